package webhooks

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"weir/webhooks/guard"
)

// Config is what a Lane needs. Log, Directory and Health have no default.
type Config struct {
	Log       Log
	Directory Directory
	Health    Health
	Guard     *guard.Guard // nil: only public addresses

	// MaxInFlight bounds attempts under way in this process (4,096).
	MaxInFlight int

	// RoomBytes bounds the deliveries in memory: waiting for their endpoint or
	// under way (128 MiB).
	RoomBytes int64

	// AttemptTime bounds one attempt, from the name's look-up to the answer's end (15 s).
	AttemptTime time.Duration

	// Grace is how long attempts under way may go on when the lane stops; those
	// that take longer are broken off and made again by whoever comes next (3 s).
	Grace time.Duration

	// Delays are how long the delay topics hold a record, shortest first.
	Delays []time.Duration

	// ClockSlack is how far the clocks of processes that share the lane may be apart (1 min).
	ClockSlack time.Duration

	// RootCAs are trusted beside nothing else; nil: the system's.
	RootCAs *x509.CertPool

	Now        func() time.Time
	Logger     *slog.Logger          // nil: logs nothing
	Registerer prometheus.Registerer // nil: registers nothing

	// step is called between every two steps of a delivery; tests stop the lane there.
	step func(name, delivery string)

	// crashed is asked before a checkpoint is written; tests let the lane die without.
	crashed func() bool
}

func (cfg Config) withDefaults() Config {
	orDefault(&cfg.MaxInFlight, 4096)
	orDefault(&cfg.RoomBytes, 128<<20)
	orDefault(&cfg.AttemptTime, attemptTime)
	orDefault(&cfg.Grace, 3*time.Second)
	orDefault(&cfg.ClockSlack, time.Minute)
	if cfg.Delays == nil {
		cfg.Delays = defaultDelays()
	}
	if cfg.Guard == nil {
		cfg.Guard = &guard.Guard{}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.step == nil {
		cfg.step = func(string, string) {}
	}
	return cfg
}

func orDefault[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}

// Lane is a dispatcher: it takes its share of what is owed and delivers it. Several
// processes may run one each; they share the partitions.
type Lane struct {
	cfg     Config
	client  *http.Client
	writer  *writer
	decider *Decider
	metrics *metrics
	flights *semaphore.Weighted
	room    *semaphore.Weighted
	workers sync.WaitGroup

	mu        sync.Mutex
	endpoints map[string]*endpointLane
	problems  map[string]error // by partition: what stopped its reader for good
}

// New makes a Lane; it neither connects nor starts anything.
func New(cfg Config) (*Lane, error) {
	if cfg.Log == nil || cfg.Directory == nil || cfg.Health == nil {
		return nil, errors.New("webhooks: a Lane needs a Log, a Directory and a Health")
	}
	cfg = cfg.withDefaults()
	l := &Lane{
		cfg: cfg, client: newClient(cfg.Guard, cfg.RootCAs), writer: newWriter(cfg.Log),
		decider:   NewDecider(cfg.Log, cfg.Directory, cfg.Logger),
		flights:   semaphore.NewWeighted(int64(cfg.MaxInFlight)),
		room:      semaphore.NewWeighted(cfg.RoomBytes),
		endpoints: map[string]*endpointLane{}, problems: map[string]error{},
	}
	l.metrics = newMetrics(cfg.Registerer, l)
	return l, nil
}

// Decider decides what is owed, with the lane's own log and Directory.
func (l *Lane) Decider() *Decider { return l.decider }

func (l *Lane) topics() []string {
	topics := []string{OwedTopic}
	for _, d := range l.cfg.Delays {
		topics = append(topics, retryTopic(d))
	}
	return topics
}

// Run delivers until ctx ends (nil). It fails only when the group can never be
// joined. Call it once.
func (l *Lane) Run(ctx context.Context) error {
	defer l.client.CloseIdleConnections()
	member, err := l.cfg.Log.Join(ctx, Group, l.topics())
	if err != nil {
		return err
	}
	defer func() {
		leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = member.Close(leave)
	}()
	swept := make(chan struct{})
	sweeping, stop := context.WithCancel(ctx)
	go func() {
		defer close(swept)
		l.sweep(sweeping)
	}()
	defer func() { stop(); <-swept; l.workers.Wait() }()
	for {
		assignment, err := member.Next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		l.serve(ctx, assignment)
		if ctx.Err() != nil {
			return nil
		}
	}
}

// endpoint finds or makes the lane of an endpoint.
func (l *Lane) endpoint(id string) *endpointLane {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.endpoints[id]
	if e == nil {
		e = newEndpointLane(l, id)
		l.endpoints[id] = e
	}
	e.used = time.Now()
	return e
}

// idleFor is how long what was learned of an endpoint is remembered.
const idleFor = 15 * time.Minute

// sweep forgets endpoints that nothing was sent to for a while.
func (l *Lane) sweep(ctx context.Context) {
	for sleep(ctx, time.Minute) {
		l.mu.Lock()
		for id, e := range l.endpoints {
			if time.Since(e.used) > idleFor && e.idle() {
				delete(l.endpoints, id)
			}
		}
		l.mu.Unlock()
	}
}

// Rotated returns once no attempt is under way here that was signed before the
// endpoint had this version, or with ctx.
func (l *Lane) Rotated(ctx context.Context, id string, version int) {
	l.endpoint(id).await(ctx, version)
}

// Problems are partitions that stopped for good, with the reason of each.
func (l *Lane) Problems() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]string, len(l.problems))
	for where, err := range l.problems {
		out[where] = err.Error()
	}
	return out
}

func (l *Lane) problem(where string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		delete(l.problems, where)
		return
	}
	l.problems[where] = err
}
