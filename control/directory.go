package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/eventlog"
)

// Config is what a Directory needs.
type Config struct {
	Log        Log
	Keyring    *Keyring              // opens and seals the webhook secrets
	AdminToken Secret                // empty: nobody is admin; else MinTokenLen characters or more
	Logger     *slog.Logger          // nil: logs nothing
	Registerer prometheus.Registerer // nil: registers nothing
}

// Directory is the control log folded in memory: what this node knows of
// projects and keys. Run keeps it up to date. Every method is safe for
// concurrent use; Lookup and Authenticate take no lock.
type Directory struct {
	log     Log
	logger  *slog.Logger
	metrics *metrics
	index   *index

	mu     sync.RWMutex // guards state; the follower alone writes
	state  *state
	next   atomic.Int64 // every record before this offset is folded
	heard  atomic.Int64 // when the log last answered, Unix nanoseconds; 0: never
	ready  chan struct{}
	waitMu sync.Mutex
	moved  chan struct{} // closed and replaced whenever next moves

	targets sync.Map // endpoint id → *Target, opened from the version it has
}

// NewDirectory makes an empty Directory that knows only the admin. It fails
// when something needed is missing or the admin token is too short.
func NewDirectory(cfg Config) (*Directory, error) {
	switch {
	case cfg.Log == nil || cfg.Keyring == nil:
		return nil, errors.New("control: a Directory needs a Log and a Keyring")
	case !cfg.AdminToken.Empty() && len(cfg.AdminToken.Bytes()) < MinTokenLen:
		return nil, fmt.Errorf("the admin token has %d characters: give at least %d", len(cfg.AdminToken.Bytes()), MinTokenLen)
	case len(cfg.AdminToken.Bytes()) > maxBearer:
		return nil, fmt.Errorf("the admin token has more than %d characters", maxBearer)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Directory{
		log: cfg.Log, logger: cfg.Logger, state: newState(),
		index: newIndex(cfg.Keyring, cfg.AdminToken),
		ready: make(chan struct{}), moved: make(chan struct{}),
	}
	d.metrics = newMetrics(cfg.Registerer, d)
	return d, nil
}

// Run folds the log from its first record and then follows it, until ctx ends
// (nil). An unreachable log is tried again for ever. It fails only where going
// on would be to guess: records that are gone, a log that was truncated, bytes
// that are no record batch. Call it once.
func (d *Directory) Run(ctx context.Context) error {
	const firstPause, longestPause = 50 * time.Millisecond, 2 * time.Second
	pause := firstPause
	for ctx.Err() == nil {
		chunk, err := d.log.Fetch(ctx, eventlog.ControlTopic, controlPartition, d.next.Load(), fetchBytes, d.fetchWait())
		switch {
		case err == nil:
			pause = firstPause
			d.take(chunk)
		case ctx.Err() != nil:
		case isFinal(err):
			return fmt.Errorf("follow the control log at offset %d: %w", d.next.Load(), err)
		default:
			d.logger.Warn("the control log cannot be read: keys and projects stay as they were until it can",
				"topic", eventlog.ControlTopic, "offset", d.next.Load(), "retry_in", pause, "error", err)
			d.metrics.failures.Inc()
			sleep(ctx, pause)
			pause = min(2*pause, longestPause)
		}
	}
	return nil
}

func (d *Directory) fetchWait() time.Duration {
	if d.isReady() {
		return fetchWait
	}
	return catchUpWait
}

func isFinal(err error) bool {
	return slices.ContainsFunc([]error{eventlog.ErrBehindRetention, eventlog.ErrPastEnd, eventlog.ErrCorrupt, eventlog.ErrClosed},
		func(final error) bool { return errors.Is(err, final) })
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// take folds a chunk and shows it to readers. Until the end of the log has been
// reached once nothing is shown: half a history is no state to answer from.
func (d *Directory) take(chunk eventlog.Chunk) {
	d.heard.Store(time.Now().UnixNano())
	d.mu.Lock()
	touched := d.fold(chunk.Records)
	switch {
	case d.isReady():
		d.index.publish(d.state, touched)
	case chunk.Next >= chunk.HighWatermark:
		d.index.publishAll(d.state)
	}
	d.mu.Unlock()
	if chunk.Next > d.next.Load() {
		d.next.Store(chunk.Next)
		d.signal()
	}
	d.reportUnreadable()
	if !d.isReady() && chunk.Next >= chunk.HighWatermark {
		d.logger.Info("control log folded", "next_offset", chunk.Next)
		close(d.ready)
	}
}

// fold applies records and returns the projects they are about. A record that
// makes no sense is counted and named in the log by its place, never by its content.
func (d *Directory) fold(records []eventlog.Record) map[string]bool {
	touched := map[string]bool{}
	for i := range records {
		r := &records[i]
		e, err := decodeEvent(r.Value)
		if err == nil {
			touched[e.project] = true
			err = d.state.apply(e)
		}
		if err != nil {
			d.metrics.ignored.WithLabelValues(err.Error()).Inc()
			d.logger.Warn("a control record was left out", "topic", eventlog.ControlTopic, "offset", r.Offset, "reason", err.Error())
			continue
		}
		d.metrics.folded.Inc()
	}
	return touched
}

func (d *Directory) reportUnreadable() {
	if n, changed := d.index.unreadableChanged(); changed && n > 0 {
		d.logger.Error("webhook secrets cannot be opened, so every signature of these projects is refused: start with the master key they were sealed under",
			"projects", n)
	}
}

// Ready is closed once everything that was in the log has been folded. Before
// that every bearer but the admin's is unknown: serve no request earlier.
func (d *Directory) Ready() <-chan struct{} { return d.ready }

func (d *Directory) isReady() bool {
	select {
	case <-d.ready:
		return true
	default:
		return false
	}
}

// Next is the offset in weir.control up to which this Directory has folded.
func (d *Directory) Next() int64 { return d.next.Load() }

// Silence is how long the log has not answered the follower; a second or so is
// normal. While it grows, changes made elsewhere, revocations too, are not known here.
func (d *Directory) Silence() time.Duration {
	at := d.heard.Load()
	if at == 0 {
		return 0
	}
	return time.Since(time.Unix(0, at))
}

// Wait returns when every record before offset next is folded, or with ctx's error.
func (d *Directory) Wait(ctx context.Context, next int64) error {
	for {
		d.waitMu.Lock()
		moved := d.moved
		d.waitMu.Unlock()
		if d.next.Load() >= next {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *Directory) signal() {
	d.waitMu.Lock()
	close(d.moved)
	d.moved = make(chan struct{})
	d.waitMu.Unlock()
}
