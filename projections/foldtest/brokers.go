package foldtest

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"weir/eventlog/eventlogtest"
	"weir/internal/broker"
)

// BrokersEnv names the variable with the brokers of an Apache Kafka that is these tests'
// alone: each test deletes what it finds of Weir there. Without it each has an embedded
// broker of its own.
const BrokersEnv = "WEIR_TEST_FOLD_BROKERS"

// brokers are those of one test.
func brokers(t testing.TB) []string {
	t.Helper()
	if text := os.Getenv(BrokersEnv); text != "" {
		addrs := strings.Split(text, ",")
		eventlogtest.Empty(t, addrs)
		return addrs
	}
	b, err := broker.Start(t.Context(), broker.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b.Addrs()
}
