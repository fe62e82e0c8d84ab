package eventlog

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/broker"
)

// TestExpired: expired records go from a broker that has been started on an existing log, but the
// offsets go on: over an orderly restart and over a kill, although everything is expired.
func TestExpired(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	b := startBroker(t, broker.Config{DataDir: dir, Unsynced: true})
	cfg := testConfig(t, b.Addrs())
	cfg.Topics[0].Retention = time.Hour
	l := openLog(t, cfg)
	old := oneSet('a', 2)
	old.Time = time.Now().Add(-2 * time.Hour)
	for range 5 {
		if _, err := l.Append(t.Context(), testTopic, 0, old); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(t.Context(), EventsTopics()[0], 0, old); err != nil {
			t.Fatal(err)
		}
	}
	b.Close()
	b = startBroker(t, broker.Config{DataDir: dir, Unsynced: true})
	if err := b.RemoveExpired(t.Context()); err != nil {
		t.Fatal(err)
	}
	bounds := func(b *broker.Broker, topic string) Bounds {
		t.Helper()
		all, err := openLog(t, testConfig(t, b.Addrs())).Bounds(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		return all[0]
	}
	if got := bounds(b, testTopic); got.Start != 9 || got.End != 10 {
		t.Errorf("after the removal the partition holds [%d, %d), expected [9, 10)", got.Start, got.End)
	}
	if got := bounds(b, EventsTopics()[0]); got.Start != 0 || got.End != 10 {
		t.Errorf("a topic that is kept for ever holds [%d, %d), expected [0, 10)", got.Start, got.End)
	}
	killed := filepath.Join(t.TempDir(), "killed")
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	b.Close()
	for _, dir := range []string{killed, dir} {
		if got := bounds(startBroker(t, broker.Config{DataDir: dir, Unsynced: true}), testTopic); got.End != 10 {
			t.Errorf("after a restart the partition ends at %d, expected 10", got.End)
		}
	}
}
