#!/bin/sh
# daemon.sh start STATE: starts a dockerd of our own with everything it keeps in the folder STATE,
# listening on STATE/docker.sock, and waits until it answers.
# daemon.sh stop STATE: ends it.
set -eu
action=$1
state=$2
socket=unix://$state/docker.sock
pidfile=$state/dockerd.pid

answers() { docker --host "$socket" info >/dev/null 2>&1; }

# wait_for CONDITION SECONDS
wait_for() {
	left=$(($2 * 5))
	until "$1"; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || return 1
		sleep 0.2
	done
}

# dockerd removes its pid file before it has ended, so the id is read once.
stop() {
	[ -f "$pidfile" ] || return 0
	pid=$(cat "$pidfile")
	gone() { ! kill -0 "$pid" 2>/dev/null; }
	echo "daemon: stopping dockerd"
	kill "$pid" 2>/dev/null || return 0
	wait_for gone 30 || kill -9 "$pid"
}

# try FLAGS...: one start with these flags; false when it does not come up.
try() {
	rm -f "$pidfile"
	# The three standard streams go to the log, so that no caller waits for the daemon.
	setsid dockerd --data-root "$state/data" --exec-root "$state/exec" --pidfile "$pidfile" \
		--host "$socket" "$@" >"$state/dockerd.log" 2>&1 </dev/null &
	if wait_for answers 30; then
		echo "daemon: dockerd answers on $socket (flags: ${*:-none})"
		return 0
	fi
	stop
	return 1
}

case $action in
start)
	mkdir -p "$state"
	if answers; then
		echo "daemon: one of an earlier run still answers on $socket; it is used"
		exit 0
	fi
	# A machine of its own needs no flags; a container or an odd file system may.
	try || try --storage-driver=vfs || try --storage-driver=vfs --iptables=false || {
		echo "daemon: dockerd does not start here; the end of $state/dockerd.log:" >&2
		tail -n 20 "$state/dockerd.log" >&2
		exit 1
	}
	;;
stop) stop ;;
*)
	echo "usage: daemon.sh start|stop STATE" >&2
	exit 2
	;;
esac
