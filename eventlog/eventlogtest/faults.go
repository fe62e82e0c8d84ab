package eventlogtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"weir/eventlog"
)

// lostAnswers: whatever happens to the connections, an acknowledged set is in the
// log once, and any other at most once.
func lostAnswers(t *testing.T, s *suite) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	topic := unique(t)
	saboteur := &Saboteur{}
	l := s.open(t, topic, 2, func(cfg *eventlog.Config) { cfg.Dial = saboteur.Dial })
	saboteur.Sometimes(seed)
	const writers, rounds = 8, 25
	var mu sync.Mutex
	acknowledged := make(map[[16]byte]bool)
	var done sync.WaitGroup
	for w := range writers {
		done.Go(func() {
			for i := range rounds {
				one := set(byte(w), 1+i%4)
				one.Batch = [16]byte{byte(w), byte(i), 1}
				ctx := patient(t)
				if i%10 == 9 { // some callers give up early
					short, cancel := context.WithTimeout(ctx, time.Millisecond)
					defer cancel()
					ctx = short
				}
				_, err := l.Append(ctx, topic, w%2, one)
				if err != nil && !errors.Is(err, eventlog.ErrUnavailable) {
					t.Errorf("append: %v", err)
				}
				mu.Lock()
				acknowledged[one.Batch] = err == nil
				mu.Unlock()
			}
		})
	}
	done.Wait()
	saboteur.Always(None)
	for _, h := range []Harm{RefuseRequest, CutRequest, LoseAnswer} {
		t.Logf("harm %d: %d produces", h, saboteur.Harms(h))
	}
	seen := append(countSets(t, l, topic, 0), countSets(t, l, topic, 1)...)
	found := make(map[[16]byte]int)
	for _, b := range seen {
		found[b]++
	}
	for batch, ok := range acknowledged {
		if n := found[batch]; n > 1 || ok && n == 0 {
			t.Errorf("set %x, acknowledged %v, is in the log %d times", batch[:2], ok, n)
		}
	}
}

// countSets checks that every set in a partition is whole and lists them.
func countSets(t *testing.T, l *eventlog.Log, topic string, partition int) [][16]byte {
	t.Helper()
	var sets [][16]byte
	records := readAll(t, l, topic, partition)
	for i := 0; i < len(records); {
		size := 1 + int(records[i].Batch[1])%4
		for j := range size {
			if r := records[i+j]; r.Batch != records[i].Batch || r.Index != j {
				t.Fatalf("set at offset %d is not whole", records[i].Offset)
			}
		}
		sets = append(sets, records[i].Batch)
		i += size
	}
	return sets
}

// givenUpSequence: when a set was given up although it is in the log, the next one
// is not taken for its repetition.
func givenUpSequence(t *testing.T, s *suite) {
	topic := unique(t)
	saboteur := &Saboteur{}
	l := s.open(t, topic, 1, func(cfg *eventlog.Config) {
		cfg.Dial = saboteur.Dial
		cfg.AppendTimeout = time.Second
	})
	mustAppend(t, l, topic, 0, set(1, 2))
	saboteur.Always(LoseAnswer)
	if _, err := l.Append(patient(t), topic, 0, set(2, 2)); !errors.Is(err, eventlog.ErrUnavailable) {
		t.Fatalf("append without answers: %v, want ErrUnavailable", err)
	}
	saboteur.Always(None)
	if first := mustAppend(t, l, topic, 0, set(3, 2)); first != 4 {
		t.Errorf("third set at offset %d, want 4", first)
	}
	got := readAll(t, l, topic, 0)
	if len(got) != 6 || got[2].Batch[0] != 2 || got[4].Batch[0] != 3 {
		t.Errorf("%d records: %+v", len(got), got)
	}
}
