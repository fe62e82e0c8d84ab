package eventlog

import (
	"bytes"
	"testing"
	"time"

	"weir/internal/broker"
)

// TestLargerRecordBatches: an embedded log opened with a larger limit takes larger
// sets in the topics it has.
func TestLargerRecordBatches(t *testing.T) {
	dir := t.TempDir()
	first, err := broker.Start(t.Context(), broker.Config{DataDir: dir, Unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	cfg := testConfig(t, first.Addrs())
	cfg.MaxRecordBatchBytes = 1 << 20
	l := openLog(t, cfg)
	if err := l.Close(within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	first.Close()

	cfg = testConfig(t, startBroker(t, broker.Config{DataDir: dir, Unsynced: true}).Addrs())
	cfg.MaxRecordBatchBytes = 48 << 20
	l = openLog(t, cfg)
	large := oneSet(1, 1)
	large.Values[0] = bytes.Repeat([]byte("x"), 40<<20)
	if _, err := l.Append(within(t, 30*time.Second), testTopic, 0, large); err != nil {
		t.Fatal(err)
	}
	if got := batches(t, l, 0); len(got) != 1 {
		t.Errorf("%d records in the log, want 1", len(got))
	}
}
