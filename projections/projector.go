package projections

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"weir/eventlog"
	"weir/readmodel/tables"
)

// errRefold means that the tables are not the ones this projector was filling:
// dropped, made again or swapped. It starts over with what is there.
var errRefold = errors.New("the tables were dropped, made again or swapped")

// commits is what a projector writes to the log: the two ends of a block. Both
// return eventlog.ErrStale when the partition belongs to somebody else by now.
type commits interface {
	Plan(ctx context.Context, tp eventlog.TopicPartition, from, to int64) error
	Advance(ctx context.Context, tp eventlog.TopicPartition, to int64) error
}

// Projector runs projections until it is told to stop. Any number of them, in
// any number of processes, share the work by partition.
type Projector struct {
	cfg      Config
	metrics  *metrics
	memory   *semaphore.Weighted // bytes fetched by lagging partitions
	slots    chan struct{}       // one per insert at once
	problems problems

	// Tests put faults between the projector and the other sides here.
	faultySink    func(sink) sink
	faultyCommits func(commits) commits
}

// New checks cfg. It talks to nobody yet.
func New(cfg Config) (*Projector, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Projector{
		cfg:           cfg,
		metrics:       newMetrics(cfg.Registerer),
		memory:        semaphore.NewWeighted(cfg.FetchMemory),
		slots:         make(chan struct{}, cfg.Inserts),
		faultySink:    func(s sink) sink { return s },
		faultyCommits: func(c commits) commits { return c },
	}, nil
}

// Run folds until ctx ends, and then returns nil when everything it started has
// stopped. It never gives up: what goes wrong is logged, shown by Problems and
// tried again.
func (p *Projector) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, projection := range p.cfg.Projections {
		running.Go(func() { p.follow(ctx, projection) })
	}
	running.Wait()
	return nil
}

// follow keeps one projection going.
func (p *Projector) follow(ctx context.Context, projection Projection) {
	wait := backoff{}
	for ctx.Err() == nil {
		began := time.Now()
		err := p.session(ctx, projection)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > time.Minute {
			wait = backoff{}
		}
		p.trouble(projection.Name, nil, err)
		pause(ctx, wait.next(err))
	}
}

// session settles the generation, joins its group and folds what it is assigned
// until something makes it necessary to start over.
func (p *Projector) session(ctx context.Context, projection Projection) error {
	g, err := live(ctx, p.cfg.ClickHouse, p.cfg.Log, projection, p.cfg.Tables)
	if err != nil {
		return err
	}
	target, err := newSink(ctx, p.cfg.ClickHouse, g, p.slots)
	if err != nil {
		return err
	}
	membership, err := p.cfg.Log.Join(ctx, Group(projection.Name, g.Generation), projection.Topics)
	if err != nil {
		return fmt.Errorf("joining %s: %w", Group(projection.Name, g.Generation), err)
	}
	defer p.leave(membership)
	p.problems.solve(projection.Name, nil)
	for {
		assignment, err := membership.Next(ctx)
		if err != nil {
			return fmt.Errorf("waiting for partitions of %s: %w", Group(projection.Name, g.Generation), err)
		}
		p.cfg.Logger.Info("folding", "projection", projection.Name, "generation", g.Generation, "partitions", len(assignment.Partitions))
		if err := p.serve(ctx, projection, g, target, assignment); err != nil {
			return err
		}
	}
}

// leaveTimeout bounds saying goodbye; a member that cannot is forgotten by the
// group after its session timeout.
const leaveTimeout = 3 * time.Second

func (p *Projector) leave(m *eventlog.Membership) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	if err := m.Close(ctx); err != nil {
		p.cfg.Logger.Warn("leaving a consumer group failed", "error", err)
	}
}

// serve folds the assigned partitions until the assignment ends (nil) or the
// tables turn out to be others (errRefold). One partition that finds itself
// stale ends the whole assignment.
func (p *Projector) serve(ctx context.Context, projection Projection, g tables.Generation, target sink, a *eventlog.Assignment) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(a.Context(), func() { stop(nil) })()
	var running sync.WaitGroup
	for _, tp := range a.Partitions {
		running.Go(func() {
			f := p.folder(projection, g, target, a, tp)
			if err := f.run(ctx); err != nil {
				stop(err)
			}
		})
	}
	running.Wait()
	if cause := context.Cause(ctx); errors.Is(cause, errRefold) {
		return cause
	}
	return nil
}

func (p *Projector) folder(projection Projection, g tables.Generation, target sink, a *eventlog.Assignment, tp eventlog.TopicPartition) *partition {
	return &partition{
		projector:  p,
		projection: projection,
		generation: g.Generation,
		tp:         tp,
		commits:    p.faultyCommits(a),
		sink:       p.faultySink(target),
		logger:     p.cfg.Logger.With("projection", projection.Name, "generation", g.Generation, "topic", tp.Topic, "partition", tp.Partition),
		counters:   p.metrics.of(projection.Name),
	}
}

// trouble logs a problem when it is new and keeps it for Problems.
func (p *Projector) trouble(projection string, tp *eventlog.TopicPartition, err error) {
	if p.problems.add(projection, tp, err) {
		p.cfg.Logger.Error("folding does not go on", "projection", projection, "error", err)
	}
}
