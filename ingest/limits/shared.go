package limits

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/eventlog"
)

// Topic is where gateways tell each other what projects took. It has one
// partition and is kept an hour, far longer than Replay.
const (
	Topic          = "weir.limits"
	TopicRetention = time.Hour
)

// Log is what sharing needs of the log; *eventlog.Log is one.
type Log interface {
	Append(ctx context.Context, topic string, partition int, s eventlog.Set) (first int64, err error)
	Tail(ctx context.Context, topic string, from int64, fn func([]eventlog.Record) error) error
	OffsetAt(ctx context.Context, topic string, partition int, t time.Time) (int64, error)
}

// SharedConfig of a Shared. Log and Gateway must be given.
type SharedConfig struct {
	Log Log

	// Gateway is the name of this gateway, which no other one bears at the same
	// time: printable ASCII without spaces.
	Gateway string

	// Every is how often others are told (100 ms).
	Every time.Duration

	Now        func() time.Time      // nil: time.Now
	Logger     *slog.Logger          // nil: none
	Registerer prometheus.Registerer // nil: none
}

// Shared are Buckets that gateways share through the log: each takes from its own
// buckets at once, tells the others what was taken, and takes off what they tell.
// All methods may run at once.
//
// The error: in the time until the others know, about Every, each gateway can
// give out what is left in the bucket, or one batch if anything is. It is taken
// off afterwards everywhere, as a debt, so over seconds the rate holds however
// many gateways there are, and a project that uses one of them gets all of it.
// While the log can't be reached nothing is accepted anyway.
type Shared struct {
	*Buckets
	cfg   SharedConfig
	ready atomic.Bool

	mu    sync.Mutex
	heard map[string]heard // by gateway

	told, foreign prometheus.Counter
}

// heard is what was last heard of another gateway.
type heard struct {
	number int64
	at     time.Time
}

// NewShared makes buckets that are shared while Run runs.
func NewShared(cfg SharedConfig) (*Shared, error) {
	if cfg.Log == nil || cfg.Gateway == "" {
		return nil, errors.New("limits: a log and the gateway's name must be given")
	}
	if cfg.Every == 0 {
		cfg.Every = 100 * time.Millisecond
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Shared{Buckets: New(), cfg: cfg, heard: map[string]heard{}}
	s.Share()
	s.told = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "weir_ingest_limits_told_total", Help: "Records by which this gateway told others what projects took of their rates.",
	})
	s.foreign = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "weir_ingest_limits_unread_total", Help: "Records of the limits topic that this version can't read and skipped.",
	})
	if cfg.Registerer != nil {
		cfg.Registerer.MustRegister(s.told, s.foreign)
	}
	return s, nil
}

// Ready says whether what others told before has been read. Before, a project in
// debt would be taken for one that has sent nothing.
func (s *Shared) Ready() bool { return s.ready.Load() }

// Run tells and listens until ctx ends, and returns nil then. It survives the
// log being away. An error means that it can't go on; restart the process.
func (s *Shared) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var telling sync.WaitGroup
	telling.Go(func() { s.tell(ctx) })
	err := s.listen(ctx)
	stop()
	telling.Wait()
	return err
}

func (s *Shared) listen(ctx context.Context) error {
	for {
		from, err := s.cfg.Log.OffsetAt(ctx, Topic, 0, s.cfg.Now().Add(-Replay))
		if err == nil {
			err = s.cfg.Log.Tail(ctx, Topic, from, s.hear)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, eventlog.ErrUnavailable), errors.Is(err, eventlog.ErrBehindRetention), errors.Is(err, eventlog.ErrPastEnd):
			// What was missed is older than anything that still matters, or comes again.
			s.cfg.Logger.Warn("limits are not shared at the moment", "topic", Topic, "error", err)
		default:
			return fmt.Errorf("limits: the tail of %s ended; restart the gateway: %w", Topic, err)
		}
		if !sleep(ctx, time.Second) {
			return nil
		}
	}
}

// hear folds what the tail read. Nil says that everything there was is read.
func (s *Shared) hear(records []eventlog.Record) error {
	if records == nil {
		s.ready.Store(true)
	}
	for i := range records {
		gateway, number, told, err := parseUsage(records[i].Value)
		if err != nil {
			s.foreign.Inc()
			continue
		}
		if gateway == s.cfg.Gateway || !s.isNew(gateway, number) {
			continue
		}
		for _, u := range told {
			s.Told(u, records[i].Time, s.cfg.Now())
		}
	}
	return nil
}

// silent is when a gateway that is not heard of any more is forgotten.
const silent = 2 * Replay

func (s *Shared) isNew(gateway string, number int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	last, known := s.heard[gateway]
	if known && number <= last.number {
		return false
	}
	s.heard[gateway] = heard{number, now}
	if !known {
		for name, h := range s.heard {
			if now.Sub(h.at) > silent {
				delete(s.heard, name)
			}
		}
	}
	return true
}

// mostTold bounds a record: so many projects take about 100 KB.
const mostTold = 2000

// tell appends what was taken since the last time, again and again.
func (s *Shared) tell(ctx context.Context) {
	// A gateway that comes back under its name goes on above its old numbers.
	number := s.cfg.Now().UnixMilli()
	var left []Usage
	for sleep(ctx, s.cfg.Every) {
		left = append(left, s.Untold(s.cfg.Now())...)
		for len(left) > 0 && ctx.Err() == nil {
			n := min(len(left), mostTold)
			number++
			if !s.append(ctx, appendUsage(nil, s.cfg.Gateway, number, left[:n])) {
				break
			}
			left = left[n:]
		}
	}
}

// append tries until the record is in the log or ctx ends: a second copy does no harm.
func (s *Shared) append(ctx context.Context, value []byte) bool {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		_, err := s.cfg.Log.Append(ctx, Topic, 0, eventlog.Set{Key: []byte(s.cfg.Gateway), Time: s.cfg.Now(), Values: [][]byte{value}})
		if err == nil {
			s.told.Inc()
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		s.cfg.Logger.Warn("what projects took of their rates could not be told to other gateways; trying again", "error", err)
		if !sleep(ctx, wait) {
			return false
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
