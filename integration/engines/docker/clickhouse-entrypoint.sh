#!/bin/sh
# Entry point of the local ClickHouse image: the engine as Weir runs it, listening on every
# address of the container. It serves as long as its standard input stays open.
set -eu
mkdir -p /var/lib/clickhouse
rm -f /tmp/stdin
mkfifo /tmp/stdin
tail -f /dev/null >/tmp/stdin &
set -- --path /var/lib/clickhouse --log-level information \
	--listen_host 0.0.0.0 --tcp_port 9000 --http_port 8123 \
	--structure 'line String' --input-format LineAsString \
	--query 'SYSTEM START LISTEN TCP' --query 'SYSTEM START LISTEN HTTP' \
	--query 'select count() from table'
# The engine in library form can end itself when a client is killed in the middle of a query;
# weir restarts its child then, and so does this.
trap 'kill "$engine" 2>/dev/null; exit 0' TERM INT
while :; do
	if [ -e /opt/clickhouse ]; then
		/opt/clickhouse local "$@" </tmp/stdin &
	else
		WEIR_CLICKHOUSE_CHILD=/opt/libchdb.so /opt/engine "$@" </tmp/stdin &
	fi
	engine=$!
	wait "$engine" || true
	echo "entrypoint: the engine ended; it is started again" >&2
done
