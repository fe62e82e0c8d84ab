// Package engines gives integration tests the engines of a cluster: Apache Kafka brokers in KRaft
// mode and a ClickHouse server, which a test can kill and start again.
//
// Each comes from the first of these that there is: an address in the environment
// (WEIR_TEST_KAFKA_BROKERS, WEIR_TEST_CLICKHOUSE_ADDR), Docker through testcontainers, processes
// of this machine (Kafka's jars from Maven Central on Java 17; ClickHouse as Weir itself finds
// it). WEIR_TEST_ENGINES set to docker or processes allows only that one. Where there is none, the
// test is left out with one line that says why.
//
// Everything ends with the test, and with the test process even when that is killed.
package engines
