package eventlog_test

import (
	"os"
	"strings"
	"testing"

	"weir/eventlog/eventlogtest"
	"weir/internal/broker"
)

// TestConformance runs the suite on the embedded broker, with its data on disk.
// WEIR_TEST_KAFKA_BROKERS names an Apache Kafka to run it on instead.
func TestConformance(t *testing.T) {
	if addrs := os.Getenv("WEIR_TEST_KAFKA_BROKERS"); addrs != "" {
		eventlogtest.Run(t, strings.Split(addrs, ","))
		return
	}
	b, err := broker.Start(t.Context(), broker.Config{DataDir: t.TempDir(), Unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	eventlogtest.Run(t, b.Addrs())
}
