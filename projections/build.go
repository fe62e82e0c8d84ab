package projections

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"weir/readmodel/tables"
)

// foldBuilding fills the generation that is being built, if there is one.
func (p *Projector) foldBuilding(ctx context.Context, projection Projection) error {
	s, err := p.surveys.look(ctx, holdPoll)
	if err != nil {
		return err
	}
	m, ok := s.building(projection)
	if !ok || m.Version != projection.Version || s.mixed(projection) {
		return errQuiet
	}
	if s.held(projection, tables.HoldBuilding) {
		return errHeld
	}
	if err := p.completeBuilding(ctx, projection, s, m.Generation); err != nil {
		return err
	}
	return p.fill(ctx, projection, buildingFilling(m.Generation))
}

// completeBuilding makes the tables after the first one, which was the wish. A
// table that is missing once folding has begun was dropped by somebody, and
// filling it from the middle would make it half.
func (p *Projector) completeBuilding(ctx context.Context, projection Projection, s *survey, g tables.Generation) error {
	suffix := tables.GenerationSuffix(g.Generation)
	var missing []tables.Table
	for _, t := range projection.Tables[1:] {
		if _, ok := s.tables[t.Name+suffix]; !ok {
			missing = append(missing, t)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	begun, err := started(ctx, p.cfg.Log, Group(projection.Name, g.Generation), projection.Topics)
	if err != nil {
		return err
	}
	if begun {
		return fmt.Errorf("%w: table %s of the generation that is being built is missing; cancel the rebuild (weir rebuild %s --cancel) and ask again",
			ErrHalted, missing[0].Name+suffix, projection.Name)
	}
	for _, t := range missing {
		if err := p.exec(ctx, t.Create(t.Name+suffix, g, p.cfg.Tables)); err != nil {
			return err
		}
	}
	return nil
}

// compareWhenThere compares the generation that is being built with the live one
// once it has nearly caught up, and says in its mark how that went.
func (p *Projector) compareWhenThere(ctx context.Context, projection Projection, live, m tables.Mark) error {
	if near, err := p.near(ctx, projection, m.Generation); err != nil || !near {
		return cmp.Or(err, errQuiet)
	}
	suffix := tables.GenerationSuffix(m.Generation.Generation)
	name := projection.Tables[0].Name + suffix
	lost, err := p.lostCheckpoints(ctx, projection, live.Generation)
	if err != nil {
		return err
	}
	if m.Accept || lost || live.Version != m.Version {
		m.State = tables.Swapping
		return p.remark(ctx, name, m)
	}
	if near, err := p.near(ctx, projection, live.Generation); err != nil || !near {
		return cmp.Or(err, errQuiet) // the live generation is catching up itself
	}
	at, err := p.freeze(ctx, projection, liveFilling(live.Generation), buildingFilling(m.Generation), name, m)
	if err != nil {
		p.letGo(ctx, name, m)
		return fmt.Errorf("holding generations %d and %d of %s at one position: %w", live.Generation.Generation, m.Generation.Generation, projection.Name, err)
	}
	stop := p.keepHeld(ctx, name, m, tables.HoldBuilding)
	differences, err := p.compareFrozen(ctx, projection, m.Generation)
	stop()
	if err != nil {
		return err
	}
	m.Hold, m.Until, m.State = tables.HoldNone, 0, tables.Swapping
	if len(differences) > 0 {
		m.State, m.Note = tables.Differing, differences.String()
		p.cfg.Logger.Error("the rebuilt tables differ from the live ones; nothing was swapped: look at them, then accept or cancel the rebuild",
			"projection", projection.Name, "generation", m.Generation.Generation, "at", at.positions().String(), "differences", m.Note)
	} else {
		p.cfg.Logger.Info("the rebuilt tables equal the live ones", "projection", projection.Name, "generation", m.Generation.Generation, "at", at.positions().String())
	}
	if err := p.remark(ctx, name, m); err != nil {
		return err
	}
	return p.dropCopies(ctx, projection, cloneSuffix(suffix))
}

// compareFrozen compares what freeze has left: the clones of the live tables and a
// generation that is held.
func (p *Projector) compareFrozen(ctx context.Context, projection Projection, g tables.Generation) (Differences, error) {
	suffix := tables.GenerationSuffix(g.Generation)
	return compare(ctx, p.cfg.ClickHouse, projection,
		side{suffix: cloneSuffix(suffix), alone: true}, side{suffix: suffix, projection: projection.Name, generation: g.Generation})
}

// near reports whether a generation has so little left that it can be folded
// while others are held.
func (p *Projector) near(ctx context.Context, projection Projection, g tables.Generation) (bool, error) {
	behind, err := p.behind(ctx, projection, g)
	return behind <= int64(max(leastNear, p.cfg.BlockRecords/2)), err
}

// leastNear is always near, however small blocks are.
const leastNear = 1000

// behind is how many records a generation has not folded yet.
func (p *Projector) behind(ctx context.Context, projection Projection, g tables.Generation) (int64, error) {
	checkpoints, err := p.cfg.Log.Checkpoints(ctx, Group(projection.Name, g.Generation), projection.Topics)
	if err != nil {
		return 0, err
	}
	var behind int64
	for _, topic := range projection.Topics {
		bounds, err := p.cfg.Log.Bounds(ctx, topic)
		if err != nil {
			return 0, err
		}
		for _, b := range bounds {
			c := checkpoints[topicPartition(topic, b.Partition)]
			behind += b.End - max(b.Start, c.Offset)
		}
	}
	return behind, nil
}

// freeze brings the live generation and another to one vector, clones the live
// tables there, and lets the live generation go on. The other one stays held
// until its mark is written again.
func (p *Projector) freeze(ctx context.Context, projection Projection, live, other filling, marked string, m tables.Mark) (vector, error) {
	owners, at, err := p.align(ctx, projection, live, other, marked, m)
	if err != nil {
		return nil, err
	}
	defer owners.release()
	clones := cloneSuffix(other.suffix)
	if err := p.dropCopies(ctx, projection, clones); err != nil {
		return nil, err
	}
	for _, t := range projection.Tables {
		if err := p.exec(ctx, tables.Clone(t.Name, t.Name+clones)); err != nil {
			return nil, err
		}
	}
	if err := p.cloneQuarantine(ctx, live.Generation, clones); err != nil { // live folding goes on filling it
		return nil, err
	}
	if err := owners.current(); err != nil {
		return nil, err
	}
	_, err = p.hold(ctx, marked, m, tables.HoldBuilding)
	return at, err
}

// keepHeld renews a hold until stop is called.
func (p *Projector) keepHeld(ctx context.Context, marked string, m tables.Mark, what tables.Hold) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			pause(ctx, holdTime/3)
			if ctx.Err() != nil {
				return
			}
			if _, err := p.hold(ctx, marked, m, what); err != nil && ctx.Err() == nil {
				p.cfg.Logger.Warn("a hold could not be renewed", "table", marked, "error", err)
			}
		}
	}()
	return func() { cancel(); <-done }
}

// letGo ends a hold that came to nothing, and gives live folding time before the
// next one.
func (p *Projector) letGo(ctx context.Context, marked string, m tables.Mark) {
	m.Hold, m.Until = tables.HoldNone, 0
	if err := p.remark(ctx, marked, m); err != nil {
		p.cfg.Logger.Warn("a hold could not be ended; it ends by itself", "table", marked, "error", err)
	}
	pause(ctx, p.holdAgain)
}

// holdAgain is how long to wait after a hold that came to nothing.
const holdAgain = 10 * time.Second

// endHolds ends the holds of a leader that died: nobody else leads now, and one
// that only believes to lead has lost its custody.
func (p *Projector) endHolds(ctx context.Context, projection Projection) error {
	s, err := look(ctx, p.cfg.ClickHouse)
	if err != nil {
		return err
	}
	m, ok := s.building(projection)
	if !ok || m.Hold == tables.HoldNone {
		return nil
	}
	m.Hold, m.Until = tables.HoldNone, 0
	return p.remark(ctx, projection.Tables[0].Name+tables.GenerationSuffix(m.Generation.Generation), m)
}

// owned is the custody of two generations.
type owned struct{ live, other *custody }

func (o owned) release() {
	o.live.release()
	o.other.release()
}

func (o owned) current() error {
	if err := o.live.current(); err != nil {
		return err
	}
	return o.other.current()
}

// align takes two generations into custody and folds both up to one vector. To
// swap, or when the live generation is of another version or has lost
// checkpoints, that one is only kept where it is, and the other one is folded up
// to there at least.
func (p *Projector) align(ctx context.Context, projection Projection, live, other filling, marked string, m tables.Mark) (owned, vector, error) {
	if _, err := p.hold(ctx, marked, m, tables.HoldAll); err != nil {
		return owned{}, nil, err
	}
	defer p.keepHeld(ctx, marked, m, tables.HoldAll)()
	var o owned
	var at vector
	err := p.whileStale(ctx, func(wait context.Context) (err error) {
		o, at, err = p.own(ctx, wait, projection, live, other, m)
		return err
	})
	return o, at, err
}

// own is one try to take both into custody, with wait, and to fold them up.
func (p *Projector) own(ctx, wait context.Context, projection Projection, live, other filling, m tables.Mark) (o owned, at vector, err error) {
	if o.live, err = p.takeCustody(wait, projection, live); err != nil {
		return o, nil, err
	}
	if o.other, err = p.takeCustody(wait, projection, other); err != nil {
		o.live.release()
		return o, nil, err
	}
	at, err = p.alignOwned(ctx, projection, o, m)
	if err == nil {
		err = o.current()
	}
	if err != nil {
		o.release()
		return o, nil, err
	}
	return o, at, nil
}

func (p *Projector) alignOwned(ctx context.Context, projection Projection, o owned, m tables.Mark) (vector, error) {
	atOther, err := o.other.settle(ctx)
	if err != nil {
		return nil, err
	}
	lost, err := p.lostCheckpoints(ctx, projection, o.live.filling.Generation)
	if err != nil {
		return nil, err
	}
	if lost || m.State == tables.Swapping || o.live.filling.Version != projection.Version {
		atLive, err := o.live.furthest(ctx)
		if err != nil {
			return nil, err
		}
		to := ahead(atOther, atLive)
		if m.Accept { // the live generation may be past the end of a log that was made anew
			if err := p.withinLog(ctx, to); err != nil {
				return nil, err
			}
		}
		return to, o.other.foldTo(ctx, atOther, to)
	}
	atLive, err := o.live.settle(ctx)
	if err != nil {
		return nil, err
	}
	to := ahead(atOther, atLive)
	if err := o.live.foldTo(ctx, atLive, to); err != nil {
		return nil, err
	}
	return to, o.other.foldTo(ctx, atOther, to)
}

// withinLog takes back what is past the ends of the log.
func (p *Projector) withinLog(ctx context.Context, at vector) error {
	for tp := range at {
		bounds, err := p.cfg.Log.Bounds(ctx, tp.Topic)
		if err != nil {
			return err
		}
		for _, b := range bounds {
			if b.Partition == tp.Partition {
				at[tp] = min(at[tp], b.End)
			}
		}
	}
	return nil
}

// swap makes the generation that is being built live: both are held at one
// vector, so that what readers count neither jumps nor goes back, and all tables
// change places in one statement. The old tables are kept.
func (p *Projector) swap(ctx context.Context, projection Projection, live, m tables.Mark) error {
	suffix := tables.GenerationSuffix(m.Generation.Generation)
	owners, at, err := p.align(ctx, projection, liveFilling(live.Generation), buildingFilling(m.Generation), projection.Tables[0].Name+suffix, m)
	if err != nil {
		p.letGo(ctx, projection.Tables[0].Name+suffix, m)
		return fmt.Errorf("holding generations %d and %d of %s to swap them: %w", live.Generation.Generation, m.Generation.Generation, projection.Name, err)
	}
	defer owners.release()
	var pairs [][2]string
	for _, t := range projection.Tables {
		pairs = append(pairs, [2]string{t.Name, t.Name + suffix})
	}
	s, err := look(ctx, p.cfg.ClickHouse)
	if err != nil {
		return err
	}
	if now, ok := s.building(projection); !ok || now.Generation != m.Generation || now.State != tables.Swapping || owners.current() != nil {
		return errQuiet // canceled, or no longer ours to swap
	}
	if err := p.exec(ctx, tables.Exchange(pairs)); err != nil {
		return err
	}
	p.cfg.Logger.Info("a rebuilt generation is live", "projection", projection.Name, "generation", m.Generation.Generation,
		"before", live.Generation.Generation, "at", at.positions().String())
	return p.afterSwap(ctx, projection, live, m)
}

// afterSwap does what tidy would do otherwise: the sooner, the shorter the hold.
func (p *Projector) afterSwap(ctx context.Context, projection Projection, live, m tables.Mark) error {
	for _, t := range projection.Tables {
		old := tables.Rename(t.Name+tables.GenerationSuffix(m.Generation.Generation), t.Name+tables.GenerationSuffix(live.Generation.Generation))
		if err := p.exec(ctx, old); err != nil {
			return err
		}
	}
	return p.remark(ctx, projection.Tables[0].Name, tables.Mark{Generation: m.Generation})
}

// dropCopies drops clones of the live tables and of the quarantine.
func (p *Projector) dropCopies(ctx context.Context, projection Projection, suffix string) error {
	for _, t := range append(slices.Clone(projection.Tables), tables.Quarantine()) {
		if err := p.exec(ctx, tables.Drop(t.Name+suffix)); err != nil {
			return err
		}
	}
	return nil
}
