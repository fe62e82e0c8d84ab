package engines

import (
	"cmp"
	"os"
)

// Versions of the engines that tests run against, in one place. The images can be set by
// environment, to a mirror's name or to one built here (see the folder docker).
const (
	kafkaVersion = "4.1.0"
	scalaVersion = "2.13" // of Kafka's jars
	slf4jVersion = "2.24.3"
	javaVersion  = 17 // the oldest that kafkaVersion runs on

	defaultKafkaImage      = "apache/kafka:" + kafkaVersion
	defaultClickHouseImage = "clickhouse/clickhouse-server:25.8"
)

// The environment of the tests.
const (
	kafkaBrokersEnv    = "WEIR_TEST_KAFKA_BROKERS"
	clickHouseAddrEnv  = "WEIR_TEST_CLICKHOUSE_ADDR"
	sourceEnv          = "WEIR_TEST_ENGINES"
	kafkaImageEnv      = "WEIR_TEST_KAFKA_IMAGE"
	clickHouseImageEnv = "WEIR_TEST_CLICKHOUSE_IMAGE"
)

func kafkaImage() string { return cmp.Or(os.Getenv(kafkaImageEnv), defaultKafkaImage) }

func clickHouseImage() string { return cmp.Or(os.Getenv(clickHouseImageEnv), defaultClickHouseImage) }
