package eventlog

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"weir/internal/broker"
)

// TestLeadersMove: while leaders and coordinators move between three brokers,
// every append arrives once, a tail sees every record once, and a member goes on
// committing.
func TestLeadersMove(t *testing.T) {
	b := startBroker(t, broker.Config{Options: []kfake.Opt{kfake.NumBrokers(3)}})
	cfg := testConfig(t, b.Addrs()[:1])
	cfg.Embedded = false
	l := openLog(t, cfg)
	f := follow(t, l)
	m, err := l.Join(t.Context(), "g", []string{testTopic})
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.Next(within(t, 30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	const writers, rounds, moves = 4, 30, 3
	acknowledged := appendAtOnce(t, l, writers, rounds, 2)
	for move := range moves {
		for range writers * rounds / (moves + 1) {
			f.expect(<-acknowledged)
		}
		for p := range int32(2) {
			if err := b.Cluster().MoveTopicPartition(testTopic, p, (b.Cluster().LeaderFor(testTopic, p)+1)%3); err != nil {
				t.Fatal(err)
			}
		}
		b.Cluster().RehashCoordinators()
		tp := a.Partitions[move%2]
		if err := a.Plan(within(t, 30*time.Second), tp, int64(move), int64(move+1), Witness{}, Witness{}); errors.Is(err, ErrStale) {
			if a, err = m.Next(within(t, 30*time.Second)); err != nil {
				t.Fatal(err)
			}
		} else if err != nil {
			t.Errorf("plan: %v", err)
		}
	}
	for batch := range acknowledged {
		f.expect(batch)
	}
	f.finish(2 * writers * rounds)
	if err := m.Close(within(t, 30*time.Second)); err != nil {
		t.Error(err)
	}
}
