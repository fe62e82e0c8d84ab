package receipts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/eventlog"
)

// Log is what the book needs of the log; *eventlog.Log is one. Its methods may
// run at once.
type Log interface {
	Append(ctx context.Context, topic string, partition int, s eventlog.Set) (first int64, err error)
	PartitionFor(topic string, batch [16]byte) int
	Fetch(ctx context.Context, topic string, partition int, offset int64, maxBytes int, maxWait time.Duration) (eventlog.Chunk, error)
	Bounds(ctx context.Context, topic string) ([]eventlog.Bounds, error)
	Tail(ctx context.Context, topic string, from int64, fn func([]eventlog.Record) error) error
}

// Config of a Book. Log and Gateway must be given.
type Config struct {
	Log Log

	// Gateway is a name that at most one running process bears at a time:
	// printable ASCII without spaces. A process that comes back under the same
	// name takes its open claims over at once; others wait for their lease.
	Gateway string

	// Lease is how long a claim is its gateway's alone (45 s). It must be
	// longer than Wait plus the time the log goes on trying an append after its
	// caller gave up, with room for the gateways' clocks.
	Lease time.Duration

	// Wait bounds each wait: for another's receipt, for the own tail (10 s).
	Wait time.Duration

	// Retention is how long an answer is given again, from the first (24 h).
	Retention time.Duration

	Now        func() time.Time      // nil: time.Now
	Logger     *slog.Logger          // nil: none
	Registerer prometheus.Registerer // nil: none
}

// Book knows what each idempotency key was answered. All methods may run at once.
type Book struct {
	cfg Config

	mu        sync.Mutex
	index     *index
	read      map[int]int64 // by partition: everything before it is folded
	flights   map[[16]byte]*Flight
	uncertain map[[16]byte]time.Time // own claims whose events may still land, until when
	ready     bool
	done      chan struct{} // closed when Run has ended; nothing is folded any more
	count     counts
}

// New makes a Book that knows nothing until Run has read the log.
func New(cfg Config) (*Book, error) {
	if !validGateway(cfg.Gateway) {
		return nil, fmt.Errorf("receipts: gateway name %q: give 1 to 128 printable ASCII characters without spaces", cfg.Gateway)
	}
	if cfg.Lease == 0 {
		cfg.Lease = 45 * time.Second
	}
	if cfg.Wait == 0 {
		cfg.Wait = 10 * time.Second
	}
	if cfg.Retention == 0 {
		cfg.Retention = 24 * time.Hour
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Book{
		cfg: cfg, index: newIndex(cfg.Lease, cfg.Retention), read: map[int]int64{},
		flights: map[[16]byte]*Flight{}, uncertain: map[[16]byte]time.Time{}, done: make(chan struct{}),
	}
	b.count = newCounts(cfg.Registerer, b)
	return b, nil
}

// Ready says whether everything that was in the topic at the start has been
// read; before, no key can be looked up.
func (b *Book) Ready() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready
}

// Keys is the number of answers remembered.
func (b *Book) Keys() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.index.settled.len()
}

// sweepEvery is how often expired keys are forgotten; they are not given out
// any more the second they expire.
const sweepEvery = 10 * time.Minute

// Run tails the topic until ctx ends. Call it once. It returns nil when ctx
// ended, else what keeps the tail from going on; then no key is served any
// more (ErrNotReady), and the process should be restarted.
func (b *Book) Run(ctx context.Context) error {
	defer b.stop()
	swept := b.cfg.Now()
	err := b.cfg.Log.Tail(ctx, eventlog.ReceiptsTopic, eventlog.First, func(records []eventlog.Record) error {
		if now := b.cfg.Now(); now.Sub(swept) >= sweepEvery {
			swept = now
			b.sweep(now)
		}
		b.fold(records)
		return nil
	})
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return nil
	}
	return fmt.Errorf("receipts: the tail of %s ended; restart the gateway: %w", eventlog.ReceiptsTopic, err)
}

func (b *Book) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = false
	close(b.done)
}

func (b *Book) sweep(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.index.sweep(now)
	for hash, until := range b.uncertain {
		if now.After(until) {
			delete(b.uncertain, hash)
		}
	}
}

// fold takes what the tail read. Nil says that the topic has been read to the end it had.
func (b *Book) fold(records []eventlog.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if records == nil {
		b.ready = true
		b.cfg.Logger.Info("receipts read", "keys", b.index.settled.len(), "open_claims", len(b.index.claimed))
	}
	for i := range records {
		r := &records[i]
		rec, err := parseRecord(r.Value)
		if err != nil {
			b.count.foreign.Inc()
		} else {
			rec.body = nil
			b.index.apply(r.Batch, r.Time, place{partition: r.Partition, offset: r.Offset}, rec)
		}
		b.read[r.Partition] = r.Offset + 1
		if f := b.flights[r.Batch]; f != nil {
			f.wake()
		}
	}
}
