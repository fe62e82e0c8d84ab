#!/bin/sh
# test.sh [GO TEST ARGUMENTS]: runs the integration tests with their engines in Docker, through
# testcontainers, without pulling any image: installs Docker where it is missing, starts a daemon
# where none answers, builds the images, runs the tests, and stops what it has started.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
began=$(date +%s)
step() { echo "docker: $(($(date +%s) - began)) s: $*"; }

step "looking for Docker Engine"
if docker info >/dev/null 2>&1; then
	step "a daemon answers; it is used and left as it is"
else
	if [ "$(id -u)" != 0 ]; then
		echo "docker: no daemon answers, and only root can start one: start Docker, or run this as root" >&2
		exit 1
	fi
	"$here/install.sh"
	state=${WEIR_TEST_DOCKER_STATE:-${WEIR_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/weir}/docker}
	trap '"$here/daemon.sh" stop "$state"' EXIT
	trap 'exit 130' INT TERM
	step "starting a daemon with its state in $state"
	"$here/daemon.sh" start "$state"
	export DOCKER_HOST="unix://$state/docker.sock"
fi

export WEIR_TEST_ENGINES=docker
export WEIR_TEST_KAFKA_IMAGE=weir-test/kafka:local
export WEIR_TEST_CLICKHOUSE_IMAGE=weir-test/clickhouse:local
# The reaper is an image that would have to be pulled; every test removes its own containers.
export TESTCONTAINERS_RYUK_DISABLED=true

step "building the images"
"$here/images.sh" "$WEIR_TEST_KAFKA_IMAGE" "$WEIR_TEST_CLICKHOUSE_IMAGE"

step "running the integration tests"
cd "$root"
if [ $# -eq 0 ]; then
	set -- -count=1 -timeout=20m ./integration/...
fi
status=0
go test "$@" || status=$?
step "done"
exit "$status"
