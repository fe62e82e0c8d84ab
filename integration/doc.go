// Package integration drives the real binary from outside, on real engines: what is shipped is
// what is tested. It holds the scenarios (each a test), the architecture rules, and in engines
// the one place that decides where Kafka and ClickHouse come from.
package integration
