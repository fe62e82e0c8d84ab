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
if [ -e /opt/clickhouse ]; then
	exec /opt/clickhouse local "$@" </tmp/stdin
fi
export WEIR_CLICKHOUSE_CHILD=/opt/libchdb.so
exec /opt/engine "$@" </tmp/stdin
