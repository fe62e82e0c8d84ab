package eventlog

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"weir/internal/broker"
)

// TestKilled: what was acknowledged is on disk at that moment. The copy of the
// folder of a running broker is what a kill -9 would leave.
func TestKilled(t *testing.T) {
	dir, copied := t.TempDir(), t.TempDir()
	b := startBroker(t, broker.Config{DataDir: dir})
	l := openLog(t, testConfig(t, b.Addrs()))
	tp := TopicPartition{testTopic, 0}
	m, err := l.Join(t.Context(), "g", []string{testTopic})
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.Next(within(t, 30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for i := range byte(10) {
		if _, err := l.Append(within(t, 30*time.Second), testTopic, 0, oneSet('a'+i, 3)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Plan(within(t, 30*time.Second), tp, 4, 9, Witness{}, Witness{}); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}

	l2 := openLog(t, testConfig(t, startBroker(t, broker.Config{DataDir: copied}).Addrs()))
	if got, want := batches(t, l2, 0), batches(t, l, 0); got != want || len(got) != 30 {
		t.Errorf("after the kill the log holds %q, want %q", got, want)
	}
	all, err := l2.Checkpoints(within(t, 30*time.Second), "g", []string{testTopic})
	if want := (Checkpoint{Offset: 4, Planned: 9, Exists: true}); err != nil || all[tp] != want {
		t.Errorf("after the kill the checkpoint is %+v, %v; want %+v", all[tp], err, want)
	}
	if err := m.Close(within(t, 30*time.Second)); err != nil {
		t.Error(err)
	}
}

// TestRestarts: while the broker is stopped and started, appends wait and go on, a
// tail sees every record once, and a member keeps or regains its partitions.
func TestRestarts(t *testing.T) {
	dir := t.TempDir()
	b := startBroker(t, broker.Config{DataDir: dir, Unsynced: true})
	addrs := b.Addrs()
	l := openLog(t, testConfig(t, addrs))
	follower := follow(t, l)
	m, err := l.Join(t.Context(), "g", []string{testTopic})
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.Next(within(t, 30*time.Second))
	if err != nil {
		t.Fatal(err)
	}

	const writers, rounds, restarts = 4, 40, 3
	acknowledged := appendAtOnce(t, l, writers, rounds, 1)
	for range restarts {
		for range writers * rounds / (restarts + 1) {
			follower.expect(<-acknowledged)
		}
		b.Close()
		b = startBroker(t, broker.Config{DataDir: dir, Unsynced: true, Addr: addrs[0]})
	}
	for batch := range acknowledged {
		follower.expect(batch)
	}
	follower.finish(2 * writers * rounds)
	for {
		err := a.Advance(within(t, 30*time.Second), TopicPartition{testTopic, 0}, 5, Witness{})
		if err == nil {
			break
		}
		if !errors.Is(err, ErrStale) {
			t.Fatal(err)
		}
		if a, err = m.Next(within(t, 30*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(within(t, 30*time.Second)); err != nil {
		t.Error(err)
	}
}

// follower tails the topic and counts.
type follower struct {
	t      *testing.T
	cancel context.CancelFunc
	ended  chan error
	want   map[[16]byte]bool

	mu    sync.Mutex
	seen  map[[16]byte]int
	total int
	grew  chan struct{}
}

func follow(t *testing.T, l *Log) *follower {
	ctx, cancel := context.WithCancel(t.Context())
	f := &follower{t: t, cancel: cancel, ended: make(chan error, 1), want: map[[16]byte]bool{}, seen: map[[16]byte]int{}, grew: make(chan struct{}, 1)}
	go func() {
		f.ended <- l.Tail(ctx, testTopic, First, func(records []Record) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			for i := range records {
				f.seen[records[i].Batch]++
			}
			f.total += len(records)
			select {
			case f.grew <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	return f
}

func (f *follower) expect(batch [16]byte) { f.want[batch] = true }

// finish waits for total records and checks that each batch was seen whole once.
func (f *follower) finish(total int) {
	f.t.Helper()
	patience := within(f.t, time.Minute)
	for f.count() < total {
		select {
		case <-f.grew:
		case <-patience.Done():
			f.t.Fatalf("the tail has seen %d records, want %d", f.count(), total)
		}
	}
	f.cancel()
	if err := <-f.ended; !errors.Is(err, context.Canceled) {
		f.t.Errorf("tail ended with %v", err)
	}
	for batch := range f.want {
		if f.seen[batch] != 2 {
			f.t.Errorf("%d records of %x, want 2", f.seen[batch], batch[:2])
		}
	}
	if f.total != total {
		f.t.Errorf("%d records, want %d", f.total, total)
	}
}

func (f *follower) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.total
}
