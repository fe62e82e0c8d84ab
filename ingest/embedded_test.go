package ingest

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/eventlog"
	"weir/ingest/limits"
	"weir/internal/broker"
	"weir/schemas"
)

// portal is a gateway behind a server, on the real log.
type portal struct {
	*Handler
	log  *eventlog.Log
	door *signalling
	url  string
	stop func()
}

func startPortal(t *testing.T, b *broker.Broker, gateway string, change ...func(*Config, *eventlog.Log)) *portal {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	log, err := eventlog.Open(t.Context(), eventlog.Config{
		Brokers: b.Addrs(), Partitions: 3, Replication: 1, Logger: logger,
		Topics: []eventlog.Topic{{Name: limits.Topic, Partitions: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	caught := make(chan struct{})
	door := &signalling{Log: log, caught: caught}
	cfg := Config{Log: door, Directory: everybody(), Gateway: gateway, Logger: logger}
	for _, c := range change {
		c(&cfg, log)
	}
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- h.Run(ctx) }()
	<-caught
	if err := h.Ready(); err != nil {
		t.Fatal(err)
	}
	return &portal{Handler: h, log: log, door: door, url: serve(t, h), stop: func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := log.Close(ctx); err != nil {
			t.Error(err)
		}
	}}
}

// signalling tells when a tail has read what there was, and can lose appends to
// the receipts after so many.
type signalling struct {
	*eventlog.Log
	caught chan struct{}
	lose   atomic.Int64 // 0: none; 1: from the next on
}

func (s *signalling) Append(ctx context.Context, topic string, partition int, set eventlog.Set) (int64, error) {
	if topic == eventlog.ReceiptsTopic && s.lose.Load() > 0 && s.lose.Add(-1) == 0 {
		s.lose.Store(1)
		return 0, eventlog.ErrUnavailable
	}
	return s.Log.Append(ctx, topic, partition, set)
}

func (s *signalling) Tail(ctx context.Context, topic string, from int64, fn func([]eventlog.Record) error) error {
	return s.Log.Tail(ctx, topic, from, func(r []eventlog.Record) error {
		err := fn(r)
		if r == nil {
			close(s.caught)
		}
		return err
	})
}

// kept reads every events topic to its end: the records by event id.
func (p *portal) kept(t *testing.T) map[[16]byte]eventlog.Record {
	t.Helper()
	all := map[[16]byte]eventlog.Record{}
	for _, typ := range schemas.Types() {
		topic := eventlog.EventsTopic(typ)
		bounds, err := p.log.Bounds(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range bounds {
			for next := b.Start; next < b.End; {
				c, err := p.log.Fetch(t.Context(), topic, b.Partition, next, 1<<20, time.Second)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range c.Records {
					if old, twice := all[r.EventID()]; twice {
						t.Errorf("event %d of a batch is in the log twice: %v and %v", r.Index, old.Offset, r.Offset)
					}
					all[r.EventID()] = r
				}
				next = c.Next
			}
		}
	}
	return all
}

// What is sent over HTTP is in the real log as it was sent, and a repeat gets
// the same answer from another gateway and after everything has restarted.
func TestEmbeddedLog(t *testing.T) {
	dir := t.TempDir()
	start := func() *broker.Broker {
		b, err := broker.Start(t.Context(), broker.Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := start()
	one, two := startPortal(t, b, "one"), startPortal(t, b, "two")
	p := post{body: mixedBatch, key: someKey}
	first := send(t, p.request(t, one.url))
	if first.status != 200 || first.body != mixedAnswer {
		t.Fatal(first)
	}
	positions, err := eventlog.ParsePositions(first.header.Get(headerPosition))
	if err != nil || len(positions) != 3 {
		t.Errorf("positions %q: %v", first.header.Get(headerPosition), err)
	}
	same := func(where string, q *portal) {
		t.Helper()
		got := send(t, p.request(t, q.url))
		if got.body != first.body || got.header.Get(headerPosition) != first.header.Get(headerPosition) || got.header.Get(headerReplayed) != "true" {
			t.Errorf("repeated at %s: %v %v", where, got, got.header)
		}
	}
	same("the same gateway", one)
	same("another gateway", two)
	checkKept(t, two)
	one.stop()
	two.stop()
	b.Close()

	b = start()
	defer b.Close()
	later := startPortal(t, b, "three")
	defer later.stop()
	same("a gateway after a restart of everything", later)
	checkKept(t, later)
	if got := send(t, post{body: oneLog}.request(t, later.url)); got.status != 200 {
		t.Error(got)
	}
}

func checkKept(t *testing.T, p *portal) {
	t.Helper()
	var values []string
	for _, r := range p.kept(t) {
		if string(r.Key) != "prj_a" || time.Since(r.Time) > time.Minute {
			t.Errorf("record of %q at %v", r.Key, r.Time)
		}
		values = append(values, string(r.Value))
	}
	slices.Sort(values)
	want := []string{
		`{"type":"cost","ts":"2026-11-21T12:00:00Z","data":{"service":"s","amount":1.25,"currency":"EUR"}}`,
		`{"type":"deploy","ts":"2026-11-21T12:00:00Z","data":{"service":"s","version":"1"}}`,
		`{"type":"log","ts":"2026-11-21T12:00:00Z","data":{"message":"a"}}`,
		`{"type":"log","ts":"2026-11-21T12:00:00Z","data":{"message":"b"}}`,
	}
	if !slices.Equal(values, want) {
		t.Errorf("in the log: %q", values)
	}
}

// The gateway dies between the events and the receipt. The one that comes back
// under its name finds the events in the real log and appends only the receipt.
func TestTakeOverOnTheEmbeddedLog(t *testing.T) {
	b, err := broker.Start(t.Context(), broker.Config{Unsynced: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	first := startPortal(t, b, "one")
	for range 20 { // so that the batch is not the only one to look through
		if got := send(t, post{body: logBatch(200), bearer: keyB, secret: secretB}.request(t, first.url)); got.status != 200 {
			t.Fatal(got)
		}
	}
	first.door.lose.Store(2) // the claim passes
	p := post{body: mixedBatch, key: someKey}
	if got := send(t, p.request(t, first.url)); got.status != 503 {
		t.Fatal(got)
	}
	first.stop()
	second := startPortal(t, b, "one")
	defer second.stop()
	got := send(t, p.request(t, second.url))
	if got.status != 200 || got.body != mixedAnswer || got.header.Get(headerReplayed) != "" {
		t.Fatal(got, got.header)
	}
	if n := len(second.kept(t)); n != 20*200+4 {
		t.Errorf("%d events in the log", n)
	}
	if again := send(t, p.request(t, second.url)); again.body != got.body || again.header.Get(headerReplayed) != "true" {
		t.Error(again)
	}
}

// A project may be allowed more than the log takes at once. Then the batch is
// refused whole, whatever its other types are, and says so.
func TestBeyondTheRecordBatch(t *testing.T) {
	b, err := broker.Start(t.Context(), broker.Config{Unsynced: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	p := startPortal(t, b, "one", func(c *Config, _ *eventlog.Log) { c.MaxBatchBytes = 32 << 20 })
	defer p.stop()
	event := `{"type":"log","ts":"2026-11-21T12:00:00Z","data":{"message":"` + strings.Repeat("x", 1<<20) + `"}},`
	const deploy = `{"type":"deploy","ts":"2026-11-21T12:00:00Z","data":{"service":"s","version":"1"}}`
	body := func(n int) string { return `{"events":[` + strings.Repeat(event, n) + deploy + `]}` }
	got := send(t, post{body: body(17), key: someKey}.request(t, p.url))
	if got.status != 413 || got.code != "events_too_large" || !strings.Contains(got.body, "split the batch") || len(p.kept(t)) != 0 {
		t.Errorf("17 MiB of one type: %v, %d events in the log", got, len(p.kept(t)))
	}
	if got := send(t, post{body: body(15), key: someKey}.request(t, p.url)); got.status != 200 || len(p.kept(t)) != 16 {
		t.Errorf("15 MiB of one type, with the key of the refused batch: %v, %d events in the log", got, len(p.kept(t)))
	}
}

// A batch as large as a legal one can be fits into one set.
func TestLargestBatch(t *testing.T) {
	b, err := broker.Start(t.Context(), broker.Config{Unsynced: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	p := startPortal(t, b, "one")
	defer p.stop()
	const event = `{"type":"log","ts":"2026-11-21T12:00:00Z","data":{"message":""}},`
	body := []byte(`{"events":[`)
	n := 0
	for ; len(body)+len(event)+2 <= DefaultMaxBatchBytes; n++ {
		body = append(body, event...)
	}
	body = append(body[:len(body)-1], "]}"...)
	got := send(t, post{body: string(body), key: someKey}.request(t, p.url))
	if got.status != 200 || len(p.kept(t)) != n {
		t.Errorf("a batch of %d events: %v", n, got)
	}
}
