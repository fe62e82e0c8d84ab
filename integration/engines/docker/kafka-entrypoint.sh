#!/bin/sh
# Entry point of the local Kafka image. It takes its properties from the environment as the public
# image does: KAFKA_NODE_ID=1 is node.id=1.
set -eu
config=/tmp/server.properties
env | sed -n 's/^KAFKA_\([A-Z0-9_]*=.*\)$/\1/p' | grep -v -e '^HEAP_OPTS=' -e '^JVM_PERFORMANCE_OPTS=' |
	while IFS='=' read -r name value; do
		echo "$(echo "$name" | tr 'A-Z_' 'a-z.')=$value"
	done >"$config"
# Both are lists of options: they are split on purpose.
# shellcheck disable=SC2086
set -- ${KAFKA_HEAP_OPTS-} ${KAFKA_JVM_PERFORMANCE_OPTS-} \
	-Dlog4j2.configurationFile=/opt/kafka/log4j2.xml -cp '/opt/kafka/libs/*'
/opt/java/bin/java "$@" kafka.tools.StorageTool format --ignore-formatted --cluster-id "$CLUSTER_ID" --config "$config"
exec /opt/java/bin/java "$@" kafka.Kafka "$config"
