package eventlog

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/internal/broker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testTopic = "weirtest.topic"

// startBroker runs an embedded broker in memory for one test.
func startBroker(t *testing.T, cfg broker.Config) *broker.Broker {
	t.Helper()
	cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	b, err := broker.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func testConfig(t *testing.T, addrs []string) Config {
	return Config{
		Brokers:  addrs,
		Embedded: true,
		Topics:   []Topic{{Name: testTopic, Partitions: 2}},
		Logger:   slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

func openLog(t *testing.T, cfg Config) *Log {
	t.Helper()
	l, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_ = l.Close(ctx)
	})
	return l
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// oneSet is a set of n records whose batch id begins with b.
func oneSet(b byte, n int) Set {
	s := Set{Key: []byte("prj"), Batch: [16]byte{b, 1}, Time: time.Now()}
	for range n {
		s.Values = append(s.Values, []byte(`{"type":"log"}`))
	}
	return s
}

// appendAtOnce appends sets of two, rounds of them by each writer, and tells the batch ids
// that were acknowledged; the channel is closed after the last.
func appendAtOnce(t *testing.T, l *Log, writers, rounds, partitions int) <-chan [16]byte {
	acknowledged := make(chan [16]byte, writers*rounds)
	var done sync.WaitGroup
	for w := range writers {
		done.Go(func() {
			for i := range rounds {
				s := oneSet(byte(w), 2)
				s.Batch = [16]byte{byte(w), byte(i), 1}
				if _, err := l.Append(within(t, time.Minute), testTopic, w%partitions, s); err != nil {
					t.Errorf("append: %v", err)
					return
				}
				acknowledged <- s.Batch
			}
		})
	}
	go func() {
		done.Wait()
		close(acknowledged)
	}()
	return acknowledged
}

// batches reads a whole partition and returns the first byte of each record's
// batch id.
func batches(t *testing.T, l *Log, partition int) string {
	t.Helper()
	ctx := within(t, 30*time.Second)
	all, err := l.Bounds(ctx, testTopic)
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	for next := int64(0); next < all[partition].End; {
		c, err := l.Fetch(ctx, testTopic, partition, next, 1<<20, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Records {
			got = append(got, c.Records[i].Batch[0])
		}
		next = c.Next
	}
	return string(got)
}
