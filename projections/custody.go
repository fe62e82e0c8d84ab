package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"weir/eventlog"
	"weir/readmodel/tables"
)

// holdTime is how long projectors step aside after they were last asked to. What
// is done meanwhile takes a second or two, and asks again while it takes longer;
// the hold of one that died ends by itself.
const holdTime = 12 * time.Second

// vector is an offset per partition.
type vector map[eventlog.TopicPartition]int64

// custody is a generation of which this process owns every partition: nobody
// else can move its checkpoints, and what others still have in flight is planned
// blocks, which are repeated here before anything else is done.
type custody struct {
	projector  *Projector
	projection Projection
	filling    filling
	membership *eventlog.Membership
	assignment *eventlog.Assignment
	sink       sink
}

// takeCustody joins the generation's group until this process owns all of it.
// Others must have been asked to leave (tables.Hold). It waits as long as ctx
// lets it.
func (p *Projector) takeCustody(ctx context.Context, projection Projection, f filling) (*custody, error) {
	group := Group(projection.Name, f.Generation.Generation)
	target, err := p.sinkOf(ctx, f)
	if err != nil {
		return nil, err
	}
	m, err := p.cfg.Log.Join(ctx, group, projection.Topics)
	if err != nil {
		return nil, fmt.Errorf("joining %s: %w", group, err)
	}
	all := 0
	for _, topic := range projection.Topics {
		all += p.cfg.Log.Partitions(topic)
	}
	for {
		a, err := m.Next(ctx)
		if err != nil {
			p.leave(m)
			return nil, fmt.Errorf("not every projector let go of %s: %w", group, err)
		}
		if len(a.Partitions) == all {
			return &custody{projector: p, projection: projection, filling: f, membership: m, assignment: a, sink: target}, nil
		}
	}
}

// whileStale tries again while custody is lost: a group with fewer partitions than
// members gives all of them to one while others are still there, and rebalances
// when these leave. try may take custodyTime altogether.
func (p *Projector) whileStale(ctx context.Context, try func(wait context.Context) error) error {
	wait, cancel := context.WithTimeout(ctx, custodyTime)
	defer cancel()
	for {
		err := try(wait)
		if !errors.Is(err, eventlog.ErrStale) || wait.Err() != nil {
			return err
		}
	}
}

func (c *custody) release() { c.projector.leave(c.membership) }

// current fails once somebody else may own a partition.
func (c *custody) current() error { return context.Cause(c.assignment.Context()) }

// settle repeats what was planned and returns the checkpoints: everything before
// them is in the tables, nothing after them is.
func (c *custody) settle(ctx context.Context) (vector, error) {
	lost, err := c.projector.begin(ctx, c.projection, c.filling.Generation.Generation, c.assignment)
	if err != nil {
		return nil, err
	}
	for _, err := range lost {
		return nil, err
	}
	checkpoints, err := c.assignment.Checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	at := vector{}
	work, ctx := errgroup.WithContext(ctx)
	for tp, checkpoint := range checkpoints {
		at[tp] = max(checkpoint.Offset, checkpoint.Planned)
		work.Go(func() error {
			f := c.folder(tp)
			if err := c.projector.unbroken(ctx, tp, checkpoint); err != nil {
				return f.advice(err)
			}
			if checkpoint.Planned < 0 {
				return nil
			}
			f.last = checkpoint.Before
			return f.repeat(ctx, checkpoint.Offset, checkpoint.Planned)
		})
	}
	return at, work.Wait()
}

// furthest is how far the tables may be filled, without repeating what was
// planned: for a generation that this binary cannot fold.
func (c *custody) furthest(ctx context.Context) (vector, error) {
	checkpoints, err := c.assignment.Checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	at := vector{}
	for tp, checkpoint := range checkpoints {
		at[tp] = max(checkpoint.Offset, checkpoint.Planned)
	}
	return at, nil
}

// foldTo folds every partition from where it is up to exactly to.
func (c *custody) foldTo(ctx context.Context, at, to vector) error {
	checkpoints, err := c.assignment.Checkpoints(ctx)
	if err != nil {
		return err
	}
	work, ctx := errgroup.WithContext(ctx)
	for tp, from := range at {
		if from >= to[tp] {
			continue
		}
		f := c.folder(tp)
		f.end = to[tp]
		f.last = checkpoints[tp].Before
		work.Go(func() error { return f.stream(ctx, from) })
	}
	return work.Wait()
}

func (c *custody) folder(tp eventlog.TopicPartition) *partition {
	f := c.projector.folder(c.projection, c.filling, c.sink, c.assignment, tp)
	f.building = false // while others are held there is nothing to give way to
	return f
}

// ahead is the vector that neither of two is past.
func ahead(a, b vector) vector {
	v := vector{}
	for tp := range a {
		v[tp] = max(a[tp], b[tp])
	}
	return v
}

// positions is the vector as people and X-Service-Log-Position write it.
func (v vector) positions() eventlog.Positions {
	var ps eventlog.Positions
	for tp, next := range v {
		ps = append(ps, eventlog.Position{Topic: tp.Topic, Partition: tp.Partition, Next: next})
	}
	return ps
}

// hold asks all projectors to step aside, on the physical first table whose mark
// is m, and returns the mark that says so.
func (p *Projector) hold(ctx context.Context, physical string, m tables.Mark, what tables.Hold) (tables.Mark, error) {
	var now time.Time
	if err := p.cfg.ClickHouse.QueryRow(ctx, "SELECT now64(3)").Scan(&now); err != nil {
		return m, fmt.Errorf("asking ClickHouse for the time: %w", err)
	}
	m.Hold, m.Until = what, now.Add(holdTime).UnixMilli()
	return m, p.remark(ctx, physical, m)
}

// remark writes a mark.
func (p *Projector) remark(ctx context.Context, physical string, m tables.Mark) error {
	if err := p.exec(ctx, tables.Remark(physical, m)); err != nil {
		return fmt.Errorf("marking table %s: %w", physical, err)
	}
	return nil
}
