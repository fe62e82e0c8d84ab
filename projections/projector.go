package projections

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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
	Plan(ctx context.Context, tp eventlog.TopicPartition, from, to int64, before, last eventlog.Witness) error
	Advance(ctx context.Context, tp eventlog.TopicPartition, to int64, before eventlog.Witness) error
}

// Projector runs projections until it is told to stop. Any number of them, in
// any number of processes, share the work by partition.
//
// For each projection three loops run: one fills the live generation, one the
// generation that is being built beside it, if there is any, and one leads what
// concerns all projectors together (see lead).
type Projector struct {
	cfg      Config
	metrics  *metrics
	turns    *semaphore.Weighted // of lagging partitions
	streams  atomic.Int64        // partitions that are being folded
	slots    chan struct{}       // one per insert at once
	spare    chan struct{}       // the same for generations that are being built
	pressure pressure
	surveys  surveyor
	problems problems

	// See the constants of the same names; tests are less patient.
	holdAgain, insertTimeout, retryEvery time.Duration
	// Tests put faults between the projector and the other sides here.
	faultySink    func(sink) sink
	faultyCommits func(commits) commits
	faultyExec    func(statement string, run func() error) error
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
		turns:         semaphore.NewWeighted(int64(cfg.Turns)),
		slots:         make(chan struct{}, cfg.Inserts),
		spare:         make(chan struct{}, max(1, cfg.Inserts/2)),
		surveys:       surveyor{conn: cfg.ClickHouse},
		holdAgain:     holdAgain,
		insertTimeout: insertTimeout,
		retryEvery:    retryEvery,
		faultySink:    func(s sink) sink { return s },
		faultyCommits: func(c commits) commits { return c },
		faultyExec:    func(_ string, run func() error) error { return run() },
	}, nil
}

// Run folds until ctx ends, and then returns nil when everything it started has
// stopped. It never gives up: what goes wrong is logged, shown by Problems and
// tried again.
func (p *Projector) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, projection := range p.cfg.Projections {
		running.Go(func() { p.follow(ctx, projection.Name, func() error { return p.foldLive(ctx, projection) }) })
		running.Go(func() {
			p.follow(ctx, rebuildLabel(projection.Name), func() error { return p.foldBuilding(ctx, projection) })
		})
		running.Go(func() { p.follow(ctx, leadLabel(projection.Name), func() error { return p.lead(ctx, projection) }) })
	}
	running.Wait()
	return nil
}

// Labels of problems and metrics that are not the live generation's.
func rebuildLabel(projection string) string { return projection + " rebuild" }
func leadLabel(projection string) string    { return projection + " lead" }

// follow keeps one loop going.
func (p *Projector) follow(ctx context.Context, label string, session func() error) {
	wait := backoff{}
	for ctx.Err() == nil {
		began := time.Now()
		err := session()
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > time.Minute {
			wait = backoff{}
		}
		if errors.Is(err, errQuiet) {
			p.problems.solve(label, nil)
			pause(ctx, quietRetry)
			continue
		}
		p.trouble(label, nil, err)
		pause(ctx, wait.next(err))
	}
}

// errQuiet means that there is nothing to do at the moment, and nothing wrong.
var errQuiet = errors.New("nothing to do")

// errHeld means that somebody asked projectors to step aside for a moment.
var errHeld = fmt.Errorf("%w: held", errQuiet)

// errMoved means that the tables bear another name now, or are gone on purpose.
var errMoved = fmt.Errorf("%w: moved", errQuiet)

// filling is one generation that is being filled.
type filling struct {
	tables.Generation
	suffix string // of the physical tables; "" for the live ones
	label  string // in problems and metrics
}

func liveFilling(g tables.Generation) filling { return filling{Generation: g, label: g.Projection} }

func buildingFilling(g tables.Generation) filling {
	return filling{Generation: g, suffix: tables.GenerationSuffix(g.Generation), label: rebuildLabel(g.Projection)}
}

func (f filling) building() bool { return f.suffix != "" }

// foldLive settles the live generation and fills it until something makes it
// necessary to start over.
func (p *Projector) foldLive(ctx context.Context, projection Projection) error {
	s, err := p.surveys.look(ctx, holdPoll)
	if err != nil {
		return err
	}
	if s.held(projection, tables.HoldLive) {
		return errHeld
	}
	g, err := live(ctx, p.cfg.ClickHouse, p.cfg.Log, projection, p.cfg.Tables)
	if err != nil {
		return err
	}
	return p.fill(ctx, projection, liveFilling(g))
}

// fill joins the generation's group and folds what it is assigned.
func (p *Projector) fill(ctx context.Context, projection Projection, f filling) error {
	target, err := p.sinkOf(ctx, f)
	if err != nil {
		return err
	}
	group := Group(projection.Name, f.Generation.Generation)
	membership, err := p.cfg.Log.Join(ctx, group, projection.Topics)
	if err != nil {
		return fmt.Errorf("joining %s: %w", group, err)
	}
	defer p.leave(membership)
	ctx, stop := context.WithCancelCause(ctx)
	var guards sync.WaitGroup
	defer guards.Wait()
	defer stop(nil)
	guards.Go(func() { p.guard(ctx, projection, f, stop) })
	for {
		assignment, err := membership.Next(ctx)
		if err != nil {
			return fmt.Errorf("waiting for partitions of %s: %w", group, err)
		}
		p.problems.solve(f.label, nil)
		p.cfg.Logger.Info("folding", "projection", projection.Name, "generation", f.Generation.Generation, "partitions", len(assignment.Partitions))
		if err := p.serve(ctx, projection, f, target, assignment); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

func (p *Projector) sinkOf(ctx context.Context, f filling) (sink, error) {
	slots := p.slots
	if f.building() {
		slots = p.spare
	}
	s, err := newSink(ctx, p.cfg.ClickHouse, p.cfg.Blocks, f.Generation, f.suffix, slots)
	if err != nil {
		return nil, err
	}
	s.timeout = p.insertTimeout
	return s, nil
}

// guard stops a filling when it is held, canceled, or its tables are others by
// now. ClickHouse being away stops nothing here: the inserts notice.
func (p *Projector) guard(ctx context.Context, projection Projection, f filling, stop context.CancelCauseFunc) {
	for ctx.Err() == nil {
		pause(ctx, holdPoll)
		s, err := p.surveys.look(ctx, holdPoll)
		if err != nil {
			continue
		}
		if err := moved(s, projection, f); err != nil {
			stop(err)
			return
		}
	}
}

// moved is why a filling must not go on; nil when it may.
func moved(s *survey, projection Projection, f filling) error {
	what, m, ok := tables.HoldLive, tables.Mark{}, false
	if f.building() {
		what = tables.HoldBuilding
		m, ok = s.building(projection)
	} else {
		m, ok = s.live(projection)
	}
	switch {
	case s.held(projection, what):
		return errHeld
	case !ok || m.Generation != f.Generation || f.building() && m.State == tables.Differing:
		return errMoved
	}
	return nil
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
func (p *Projector) serve(ctx context.Context, projection Projection, g filling, target sink, a *eventlog.Assignment) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(a.Context(), func() { stop(nil) })()
	lost, err := p.begin(ctx, projection, g.Generation.Generation, a)
	if err != nil {
		if errors.Is(err, eventlog.ErrStale) || ctx.Err() != nil {
			return nil
		}
		return err
	}
	var running sync.WaitGroup
	for _, tp := range a.Partitions {
		if err := lost[tp]; err != nil {
			p.trouble(g.label, &tp, err)
			defer p.problems.solve(g.label, &tp)
			continue
		}
		running.Go(func() {
			f := p.folder(projection, g, target, a, tp)
			if err := f.run(ctx); err != nil {
				stop(err)
			}
		})
	}
	if len(lost) > 0 {
		running.Go(func() { <-ctx.Done() })
	}
	running.Wait()
	if cause := context.Cause(ctx); errors.Is(cause, errRefold) {
		return cause
	}
	return nil
}

func (p *Projector) folder(projection Projection, g filling, target sink, c commits, tp eventlog.TopicPartition) *partition {
	return &partition{
		projector:  p,
		projection: projection,
		generation: g.Generation.Generation,
		label:      g.label,
		building:   g.building(),
		end:        noEnd,
		tp:         tp,
		commits:    p.faultyCommits(c),
		sink:       p.faultySink(target),
		logger:     p.cfg.Logger.With("projection", projection.Name, "generation", g.Generation.Generation, "topic", tp.Topic, "partition", tp.Partition),
		counters:   p.metrics.of(g.label),
	}
}

// trouble logs a problem when it is new and keeps it for Problems.
func (p *Projector) trouble(label string, tp *eventlog.TopicPartition, err error) {
	if p.problems.add(label, tp, err) {
		p.cfg.Logger.Error("folding does not go on", "projection", label, "error", err)
	}
}
