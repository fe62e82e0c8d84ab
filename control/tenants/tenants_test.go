package tenants

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/eventlog"
	"weir/internal/broker"
	"weir/internal/httpapi"
	"weir/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

// book is what was applied, in order.
type book struct {
	mu    sync.Mutex
	calls []string
	fails int // so many next calls fail on the server's side
	seen  chan struct{}
}

func newBook() *book { return &book{seen: make(chan struct{}, 1000)} }

func (b *book) apply(_ context.Context, operator, project string, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fails > 0 {
		b.fails--
		return httpapi.Errorf(httpapi.CodeUnavailable, "not now")
	}
	b.calls = append(b.calls, fmt.Sprint(operator, " ", project, " ", n))
	b.seen <- struct{}{}
	if project == "prj_none" {
		return httpapi.NotFound("project")
	}
	return nil
}

func (b *book) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

func open(t *testing.T, b *broker.Broker) *eventlog.Log {
	t.Helper()
	log, err := eventlog.Open(t.Context(), eventlog.Config{
		Brokers: b.Addrs(), Partitions: 3, Replication: 1, SessionTimeout: time.Second, Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// follow runs a follower until the returned function is called.
func follow(t *testing.T, b *broker.Broker, to *book) (stop func()) {
	log := open(t, b)
	f := New(Config{Log: log, Apply: to.apply, Operator: func(id string) bool { return id == "prj_op" }, Logger: quiet})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	return func() {
		cancel()
		err := <-done
		end, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(err, log.Close(end)); err != nil {
			t.Error(err)
		}
	}
}

var sets byte

func put(t *testing.T, log *eventlog.Log, partition int, at time.Time, from string, data ...string) {
	t.Helper()
	var values [][]byte
	for _, d := range data {
		values = append(values, fmt.Appendf(nil, `{"type":"tenant","ts":"2026-11-21T12:00:00Z","data":%s}`, d))
	}
	sets++
	_, err := log.Append(t.Context(), eventlog.EventsTopic(schemas.Tenant), partition, eventlog.Set{
		Key: []byte(from), Batch: [16]byte{sets}, Time: at, Values: values,
	})
	if err != nil {
		t.Fatal(err)
	}
}

func await(t *testing.T, b *book, n int) {
	t.Helper()
	for range n {
		select {
		case <-b.seen:
		case <-t.Context().Done():
			t.Fatal("interrupted")
		case <-time.After(20 * time.Second):
			t.Fatalf("applied: %q", b.all())
		}
	}
}

// Operators' events set limits, in the order of time over all partitions, others'
// do not; what can't be done is passed over, what fails for now is not; and a
// follower that takes over begins after what was done.
func TestFollow(t *testing.T) {
	b, err := broker.Start(t.Context(), broker.Config{Unsynced: true, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	log := open(t, b)
	defer func() {
		if err := log.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	at := time.Now().Add(-time.Minute)
	put(t, log, 1, at.Add(2*time.Second), "prj_op", `{"projectId":"prj_a","ingestLimitPerSecond":200}`)
	put(t, log, 2, at, "prj_op", `{"projectId":"prj_a","ingestLimitPerSecond":100,"plan":"team"}`, `{"projectId":"prj_a","plan":"x"}`, `{"projectId":"prj_a","ingestLimitPerSecond":null}`)
	put(t, log, 0, at.Add(time.Second), "prj_other", `{"projectId":"prj_a","ingestLimitPerSecond":7}`)
	put(t, log, 0, at.Add(3*time.Second), "prj_op", `{"projectId":"prj_none","ingestLimitPerSecond":1}`, `{"projectId":"prj_b","ingestLimitPerSecond":0}`)
	first := newBook()
	first.fails = 2
	stop := follow(t, b, first)
	await(t, first, 4)
	want := []string{"prj_op prj_a 100", "prj_op prj_a 200", "prj_op prj_none 1", "prj_op prj_b 0"}
	if got := first.all(); !slices.Equal(got, want) {
		t.Errorf("applied %q, want %q", got, want)
	}
	put(t, log, 2, time.Now(), "prj_op", `{"projectId":"prj_c","ingestLimitPerSecond":3e1}`)
	await(t, first, 1)
	second := newBook()
	stopSecond := follow(t, b, second) // there are two now
	put(t, log, 1, time.Now(), "prj_op", `{"projectId":"prj_d","ingestLimitPerSecond":4}`)
	select {
	case <-first.seen:
	case <-second.seen:
	}
	stop()
	put(t, log, 0, time.Now(), "prj_op", `{"projectId":"prj_e","ingestLimitPerSecond":5}`)
	for !slices.Contains(second.all(), "prj_op prj_e 5") {
		await(t, second, 1)
	}
	stopSecond()
	all := append(first.all(), second.all()...)
	for i, call := range want {
		if i < len(want) && slices.Index(second.all(), call) >= 0 {
			t.Errorf("%q is applied again after it was done: %q", call, all)
		}
	}
}

func TestAsked(t *testing.T) {
	for data, want := range map[string]string{
		`{"projectId":"p","ingestLimitPerSecond":5}`:    "p 5 true",
		`{"projectId":"p","ingestLimitPerSecond":50.0}`: "p 50 true",
		`{"projectId":"p"}`:                             " 0 false",
		`{"projectId":"p","ingestLimitPerSecond":"5"}`:  "p 0 false",
		`{"projectId":7,"ingestLimitPerSecond":5}`:      " 5 false",
		`{"ingestLimitPerSecond":5}`:                    " 5 false",
	} {
		project, n, ok := asked(fmt.Appendf(nil, `{"type":"tenant","ts":"2026-11-21T12:00:00Z","data":%s}`, data))
		if got := fmt.Sprint(project, " ", n, " ", ok); got != want {
			t.Errorf("%s: %s, want %s", data, got, want)
		}
	}
	if _, _, ok := asked([]byte(`{"type":"log"`)); ok {
		t.Error("something else asks")
	}
}
