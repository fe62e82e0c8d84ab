package webhooks

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/eventlog"
	"weir/internal/broker"
	"weir/schemas"
	"weir/webhooks/guard"
	"weir/webhooks/signing"
)

func TestMain(m *testing.M) {
	asked()
	goleak.VerifyTestMain(m)
}

// quickDelays make a schedule of seconds one of milliseconds.
var quickDelays = []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second}

func startBroker(t testing.TB) *broker.Broker {
	t.Helper()
	b, err := broker.Start(context.Background(), broker.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func openLog(t testing.TB, b *broker.Broker) *eventlog.Log {
	t.Helper()
	l, err := eventlog.Open(context.Background(), eventlog.Config{
		Brokers: b.Addrs(), Embedded: true, Partitions: 2, Topics: topicsFor(quickDelays),
		SessionTimeout: time.Minute, // a machine under load must not look like a rebalance
		Logger:         slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = l.Close(ctx)
	})
	return l
}

// book is a Directory and a Health in memory.
type book struct {
	mu        sync.Mutex
	endpoints map[string]Endpoint
	events    map[string]string // pattern: one type, or *
	disabled  map[string]string
	failing   map[string]time.Time
	changed   chan struct{}
}

func newBook() *book {
	return &book{endpoints: map[string]Endpoint{}, events: map[string]string{}, disabled: map[string]string{}, failing: map[string]time.Time{}, changed: make(chan struct{}, 100)}
}

func testSecret(n int) string {
	return "whsec_" + base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "secret %024d", n))
}

func testKey(n int) signing.Key {
	k, err := signing.ParseSecret(testSecret(n))
	if err != nil {
		panic(err)
	}
	return k
}

func (b *book) add(id, kind, url string, change ...func(*Endpoint)) {
	ep := Endpoint{ID: id, ProjectID: "prj", Version: 1, Kind: kind, Enabled: true, Address: func() string { return url }, Shown: url,
		Keys: []SigningKey{{ID: "whk_1", Key: testKey(1)}}, Schedule: []time.Duration{20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond}}
	for _, c := range change {
		c(&ep)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endpoints[id], b.events[id] = ep, "*"
}

func (b *book) Endpoint(id string) (*Endpoint, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ep, ok := b.endpoints[id]
	return &ep, ok, nil
}

func (b *book) Subscribed(project, _ string, _ time.Time) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for id, ep := range b.endpoints {
		if ep.ProjectID == project && ep.Enabled {
			ids = append(ids, id)
		}
	}
	return ids
}

func (b *book) Next() int64                       { return 0 }
func (b *book) Wait(context.Context, int64) error { return nil }

func (b *book) Disable(_ context.Context, id, reason string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	ep := b.endpoints[id]
	ep.Enabled = false
	ep.Version++
	b.endpoints[id], b.disabled[id] = ep, reason
	b.changed <- struct{}{}
	return nil
}

func (b *book) Failing(_ context.Context, id string, since time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	ep := b.endpoints[id]
	ep.FailingSince = since
	b.endpoints[id], b.failing[id] = ep, since
	b.changed <- struct{}{}
	return nil
}

var loopback = &guard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

// running is a lane that runs until stop.
type running struct {
	*Lane
	stop func()
}

func startLane(t testing.TB, log Log, b *book, change ...func(*Config)) *running {
	t.Helper()
	cfg := Config{Log: log, Directory: b, Health: b, Guard: loopback, Delays: quickDelays, ClockSlack: time.Second, AttemptTime: 2 * time.Second,
		Grace: 500 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for _, c := range change {
		c(&cfg)
	}
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := l.Run(ctx); err != nil && !errors.Is(err, eventlog.ErrClosed) {
			t.Errorf("the lane failed: %v", err)
		}
	}()
	var once sync.Once
	stop := func() { once.Do(func() { cancel(); <-done }) }
	t.Cleanup(stop)
	return &running{l, stop}
}

// seen is one delivery that a receiver got.
type seen struct {
	id   string
	body string
	h    http.Header
}

// receiver keeps what it gets, in order, and answers as it is told.
type receiver struct {
	*httptest.Server
	got    chan seen
	mu     sync.Mutex
	counts map[string]int
	answer func(w http.ResponseWriter, r *http.Request, n int) // n: how often this id was seen before
}

func newReceiver(t testing.TB, answer func(http.ResponseWriter, *http.Request, int)) *receiver {
	r := &receiver{got: make(chan seen, 1<<17), counts: map[string]int{}, answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		id := req.Header.Get(signing.HeaderID)
		r.mu.Lock()
		n := r.counts[id]
		r.counts[id]++
		r.mu.Unlock()
		r.got <- seen{id, string(body), req.Header}
		if r.answer != nil {
			r.answer(w, req, n)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

const patience = 30 * time.Second

func (r *receiver) next(t testing.TB) seen {
	t.Helper()
	select {
	case s := <-r.got:
		return s
	case <-time.After(patience):
		t.Fatal("nothing was delivered")
		return seen{}
	}
}

// attempt is an event of the lane as it is in the log.
type attempt struct {
	attemptData
	record eventlog.Record
}

// history reads the lane's events.
func history(t testing.TB, log Log) []attempt {
	t.Helper()
	var all []attempt
	for p := range log.Partitions(attemptsTopic) {
		err := scan(context.Background(), log, eventlog.TopicPartition{Topic: attemptsTopic, Partition: p}, 0, func(r *eventlog.Record) bool {
			e, err := schemas.Open(r.Value)
			if err != nil {
				t.Fatal(err)
			}
			a := attempt{record: *r}
			if err := json.Unmarshal(e.Data, &a.attemptData); err != nil {
				t.Fatal(err)
			}
			all = append(all, a)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// await reads the history until a delivery has one of the statuses that end it.
func await(t testing.TB, log Log, ids ...string) map[string][]attempt {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		byID := map[string][]attempt{}
		ended := map[string]bool{}
		for _, a := range history(t, log) {
			if a.Status != "" {
				byID[a.DeliveryID] = append(byID[a.DeliveryID], a)
			}
			if a.DeliveryStatus == statusSucceeded || a.DeliveryStatus == statusExhausted || a.DeliveryStatus == statusCanceled {
				ended[a.DeliveryID] = true
			}
		}
		missing := 0
		for _, id := range ids {
			if !ended[id] {
				missing++
			}
		}
		if missing == 0 {
			for _, attempts := range byID { // of several partitions
				slices.SortFunc(attempts, func(a, b attempt) int { return a.Attempt - b.Attempt })
			}
			return byID
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d deliveries have not ended", missing, len(ids))
		}
		sleep(context.Background(), 20*time.Millisecond)
	}
}

func decide(t testing.TB, d *Decider, n int, o Occasion) []string {
	t.Helper()
	var ids []string
	for i := range n {
		o.Project, o.At = "prj", time.Now()
		o.Cause = fmt.Sprintf("test %d %d", o.At.UnixNano(), i)
		if o.Payload == nil {
			o.Payload = json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))
		}
		made, err := d.Decide(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range made {
			ids = append(ids, one.ID)
		}
	}
	return ids
}
