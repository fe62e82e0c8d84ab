package readmodel

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"weir/eventlog"
	"weir/internal/httpapi"
)

// The projections whose tables this package reads, by the names projectors know them.
const (
	History     = "history"
	ErrorGroups = "errorgroups"
	Deliveries  = "deliveries"
	Costs       = "costs"
	Performance = "performance"
	Triage      = "triage" // decisions about error groups; reads of groups need both
)

// Waiter knows how far projections have folded the log.
type Waiter interface {
	// Wait returns nil once the tables of the projection hold everything up
	// to the positions, all of which are of topics that it folds. It returns
	// ctx's error when ctx ends first. Safe for concurrent use.
	Wait(ctx context.Context, projection string, positions eventlog.Positions) error
}

// Config is what a Reader needs.
type Config struct {
	Conn   Conn
	Auth   httpapi.Authenticator
	Waiter Waiter
	// Modules answers GET /api/{module}/status.
	Modules Monitor
	// Projects says whether a project exists, so that the admin's typing error is
	// a 404 instead of an empty list; nil: not checked.
	Projects func(projectID string) bool

	// Generation is that of a projection's live tables, 0 while it is not known;
	// false when there is no such projection. It must answer at once. nil: there is none.
	Generation func(projection string) (int, bool)

	// HistoryLag is how old the oldest event not yet in the events table is, false
	// when that is not known; nil: never known. It only bounds how far back a
	// tail looks for events that become visible late.
	HistoryLag func() (time.Duration, bool)

	Logger     *slog.Logger          // nil: no log
	Registerer prometheus.Registerer // nil: no metrics

	// MaxQueries bounds the queries at once; further ones wait their turn. It should
	// be below what Conn has, whose own queue gives up after two seconds. 0: no bound.
	MaxQueries int

	MaxTails     int           // tails followed at once; 0 means 64
	PollInterval time.Duration // how often a tail looks for new events; 0 means 1 s
	Heartbeat    time.Duration // a comment on a silent tail; 0 means 15 s
	MaxWait      time.Duration // for X-Service-Log-Position; 0 means 5 s
}

// Reader answers the read endpoints. Safe for concurrent use; between requests it
// holds how many tails are followed, and what it may guess of error groups.
type Reader struct {
	cfg   Config
	log   *slog.Logger
	stats *metrics
	tails atomic.Int64
	slots chan struct{} // one per query that may run; nil: no bound

	listed listed // which projects have a list of error groups
	scopes scopes // a guess at what was decided in them

	closing sync.Once
	closed  chan struct{}
}

// Close ends every tail, which would otherwise hold up the server's shutdown.
// Other requests are not touched. It returns at once and may be called twice.
func (rd *Reader) Close() { rd.closing.Do(func() { close(rd.closed) }) }

// New makes a Reader; it neither connects nor starts anything.
func New(cfg Config) *Reader {
	setDefault(&cfg.MaxTails, 64)
	setDefault(&cfg.PollInterval, time.Second)
	setDefault(&cfg.Heartbeat, 15*time.Second)
	setDefault(&cfg.MaxWait, 5*time.Second)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Generation == nil {
		cfg.Generation = func(string) (int, bool) { return 0, false }
	}
	rd := &Reader{cfg: cfg, log: cfg.Logger, stats: newMetrics(cfg.Registerer), closed: make(chan struct{})}
	if cfg.MaxQueries > 0 {
		rd.slots = make(chan struct{}, cfg.MaxQueries)
	}
	return rd
}

func setDefault[T comparable](v *T, to T) {
	var zero T
	if *v == zero {
		*v = to
	}
}

// Routes mounts the endpoints on r, with their full paths. Status needs no
// key, the quarantine the admin, all else a bearer with the scope read.
func (rd *Reader) Routes(r chi.Router) {
	rd.statusRoutes(r)
	r.Group(rd.adminRoutes)
	r.Group(func(r chi.Router) {
		r.Use(httpapi.RequireScope(rd.cfg.Auth, httpapi.ScopeRead))
		r.Get("/api/events", rd.serve(History, rd.listEvents))
		r.Get("/api/events/histogram", rd.serve(History, rd.histogram))
		r.Get("/api/events/tail", rd.serve(History, rd.tail))
		r.Get("/api/trace/{traceId}", rd.serve(History, rd.trace))
		r.Get("/api/performance/series", rd.serve(Performance, rd.performance))
		r.Get("/api/errors/groups", rd.serve(ErrorGroups, rd.listGroups))
		r.Get("/api/errors/groups/{fingerprint}", rd.serve(ErrorGroups, rd.group))
		r.Get("/api/webhooks/deliveries", rd.serve(Deliveries, rd.listDeliveries))
		r.Get("/api/webhooks/feed", rd.serve(Deliveries, rd.feed))
		r.Get("/api/webhooks/deliveries/{id}", rd.serve(Deliveries, rd.delivery))
		r.Get("/api/cost/rollups", rd.serve(Costs, rd.costs))
		r.Get("/api/ingest/rejections", rd.serve(Rejections, rd.rejections))
	})
}

// serve turns a handler that returns an error into an http one, after waiting
// for the position the client asked for.
func (rd *Reader) serve(projection string, h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := rd.await(r, projection)
		if err == nil {
			err = h(w, r)
		}
		if err != nil {
			httpapi.WriteError(w, r, err)
		}
	}
}

// query runs a statement read-only and within bounds and calls scan for each
// row. Errors are answers already: see queryError.
func (rd *Reader) query(ctx context.Context, name string, s Statement, scan func(driver.Rows) error) error {
	return rd.queryWith(ctx, name, querySettings(), s, scan)
}

// quick is query for what reads a granule or a few of each part: a second thread
// would cost more than it does, and waits for a core while events fold.
func (rd *Reader) quick(ctx context.Context, name string, s Statement, scan func(driver.Rows) error) error {
	settings := querySettings()
	settings["max_threads"] = 1
	return rd.queryWith(ctx, name, settings, s, scan)
}

func (rd *Reader) queryWith(ctx context.Context, name string, settings clickhouse.Settings, s Statement, scan func(driver.Rows) error) error {
	leave, err := rd.enter(ctx)
	if err != nil {
		return queryError(err)
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	start := time.Now()
	err = run(clickhouse.Context(ctx, clickhouse.WithSettings(settings)), rd.cfg.Conn, s, scan)
	rd.stats.observe(name, time.Since(start), err)
	return queryError(err)
}

// enter waits for a place among the queries at once, no longer than a query may take.
func (rd *Reader) enter(ctx context.Context) (leave func(), err error) {
	if rd.slots == nil {
		return func() {}, nil
	}
	turn := time.NewTimer(queryTime)
	defer turn.Stop()
	select {
	case rd.slots <- struct{}{}:
		return func() { <-rd.slots }, nil
	case <-turn.C:
		return nil, context.DeadlineExceeded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func run(ctx context.Context, conn Conn, s Statement, scan func(driver.Rows) error) error {
	rows, err := conn.Query(ctx, s.SQL, s.named()...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := scan(rows); err != nil {
			_ = rows.Close()
			return err
		}
	}
	if err := rows.Err(); err != nil {
		_ = rows.Close()
		return err
	}
	return rows.Close()
}
