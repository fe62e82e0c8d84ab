// Package eventlogtest is the conformance suite of the log: the same promises are
// checked against the embedded broker and against Apache Kafka.
package eventlogtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"weir/eventlog"
)

// patience bounds every wait of the suite; nothing waits that long when all is well.
const patience = 60 * time.Second

// Run checks the log served by brokers. It makes topics and groups with names of
// its own, so a cluster that is in use can be checked too.
func Run(t *testing.T, brokers []string) {
	s := &suite{brokers: brokers}
	for _, c := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"RoundTrip", roundTrip},
		{"GroupCommit", groupCommit},
		{"LargestSet", largestSet},
		{"Bounds", bounds},
		{"BehindRetention", behindRetention},
		{"MadeAnew", madeAnew},
		{"Compression", compression},
		{"LostAnswers", lostAnswers},
		{"GivenUpSequence", givenUpSequence},
		{"Tail", tail},
		{"TailGrows", tailGrows},
		{"Foreign", foreign},
		{"Transactions", transactions},
		{"Checkpoints", checkpoints},
		{"Rebalance", rebalance},
		{"DeadMember", deadMember},
		{"Groups", groups},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, s) })
	}
}

type suite struct{ brokers []string }

// unique makes a name nobody else has.
func unique(t *testing.T) string {
	var b [6]byte
	if _, err := rand.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	return "weirtest." + hex.EncodeToString(b[:])
}

// open opens the log with one topic of the test's own.
func (s *suite) open(t *testing.T, topic string, partitions int, change func(*eventlog.Config)) *eventlog.Log {
	t.Helper()
	cfg := eventlog.Config{
		Brokers:        s.brokers,
		Partitions:     1,
		Topics:         []eventlog.Topic{{Name: topic, Partitions: partitions}},
		SessionTimeout: 6 * time.Second,
		Logger:         slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if change != nil {
		change(&cfg)
	}
	l, err := eventlog.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := l.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return l
}

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// set makes a set of n values that say where they belong.
func set(batch byte, n int) eventlog.Set {
	s := eventlog.Set{Key: []byte("prj_test"), Batch: [16]byte{batch, 1}, Time: time.Now()}
	for i := range n {
		s.Values = append(s.Values, fmt.Appendf(nil, `{"batch":%d,"index":%d}`, batch, i))
	}
	return s
}

// mustAppend appends and returns the first offset.
func mustAppend(t *testing.T, l *eventlog.Log, topic string, partition int, s eventlog.Set) int64 {
	t.Helper()
	first, err := l.Append(patient(t), topic, partition, s)
	if err != nil {
		t.Fatal(err)
	}
	return first
}

// readAll fetches a partition from start to its end.
func readAll(t *testing.T, l *eventlog.Log, topic string, partition int) []eventlog.Record {
	t.Helper()
	ctx := patient(t)
	all, err := l.Bounds(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	var records []eventlog.Record
	for next := all[partition].Start; next < all[partition].End; {
		c, err := l.Fetch(ctx, topic, partition, next, 1<<20, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, c.Records...)
		next = c.Next
	}
	return records
}
