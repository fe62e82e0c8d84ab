package control

import (
	"context"
	"sync"
	"testing"
	"time"

	"weir/eventlog"
)

// memLog is the control topic in memory. Several Directories may share it, as
// nodes share the log. fail makes the next appends fail: before or after they were applied.
type memLog struct {
	mu      sync.Mutex
	records []eventlog.Record
	grown   chan struct{}
	fail    []appendFault
	fetchOf func(offset int64) error
}

type appendFault struct {
	err     error
	applied bool
}

func newMemLog() *memLog { return &memLog{grown: make(chan struct{})} }

func (l *memLog) Append(ctx context.Context, topic string, partition int, s eventlog.Set) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var fault appendFault
	if len(l.fail) > 0 {
		fault, l.fail = l.fail[0], l.fail[1:]
	}
	if fault.err != nil && !fault.applied {
		return 0, fault.err
	}
	first := int64(len(l.records))
	for i, v := range s.Values {
		l.records = append(l.records, eventlog.Record{Topic: topic, Offset: first + int64(i), Time: s.Time, Key: s.Key, Value: v, Batch: s.Batch, Index: i})
	}
	close(l.grown)
	l.grown = make(chan struct{})
	return first, fault.err
}

func (l *memLog) appendRaw(values ...string) {
	set := eventlog.Set{}
	for _, v := range values {
		set.Values = append(set.Values, []byte(v))
	}
	_, _ = l.Append(context.Background(), eventlog.ControlTopic, 0, set)
}

func (l *memLog) Fetch(ctx context.Context, _ string, _ int, offset int64, _ int, maxWait time.Duration) (eventlog.Chunk, error) {
	l.mu.Lock()
	if l.fetchOf != nil {
		if err := l.fetchOf(offset); err != nil {
			l.mu.Unlock()
			return eventlog.Chunk{}, err
		}
	}
	grown := l.grown
	if offset < int64(len(l.records)) {
		defer l.mu.Unlock()
		return l.chunk(offset), nil
	}
	l.mu.Unlock()
	wait, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	select {
	case <-grown:
	case <-wait.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chunk(offset), ctx.Err()
}

// chunk hands out a few records at a time, so that folding in pieces is what every test does.
func (l *memLog) chunk(offset int64) eventlog.Chunk {
	const most = 7
	end := int64(len(l.records))
	to := min(end, offset+most)
	return eventlog.Chunk{Records: append([]eventlog.Record(nil), l.records[offset:to]...), Next: to, HighWatermark: end}
}

func (l *memLog) snapshot() []eventlog.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]eventlog.Record(nil), l.records...)
}

var (
	testMasterKey  = NewSecret("0123456789abcdef0123456789ABCDEF")
	testAdminToken = NewSecret("weiradm_the-admin-token-of-tests")
)

func testKeyring(t testing.TB) *Keyring {
	t.Helper()
	k, err := NewKeyring(testMasterKey)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// startNode runs a Directory over log until the test ends and waits until it is ready.
func startNode(t testing.TB, log Log, change ...func(*Config)) *Commands {
	t.Helper()
	cfg := Config{Log: log, Keyring: testKeyring(t), AdminToken: testAdminToken}
	for _, c := range change {
		c(&cfg)
	}
	d, err := NewDirectory(cfg)
	if err != nil {
		t.Fatal(err)
	}
	run(t, d)
	select {
	case <-d.Ready():
	case <-time.After(20 * time.Second):
		t.Fatal("the Directory is not ready")
	}
	return NewCommands(d)
}

func run(t testing.TB, d *Directory) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the follower failed: %v", err)
		}
	})
}
