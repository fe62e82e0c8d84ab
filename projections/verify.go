package projections

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"weir/eventlog"
	"weir/readmodel/tables"
)

// Verification is what comparing a projection's live tables with a second fold of
// the log has found.
type Verification struct {
	Projection string `json:"projection"`
	Generation int    `json:"generation"`
	// Position at which both were compared.
	Position string `json:"position"`
	Records  int64  `json:"records"` // of the log, folded again
	// Equal says that every table has the same rows for every project.
	Equal       bool        `json:"equal"`
	Differences Differences `json:"differences"`
	Seconds     float64     `json:"seconds"`
}

// Verify folds the log again into scratch tables and compares their digests with
// those of the live tables, per table and project, both at the position where
// the live generation is. Live folding is held for a second or two, while its
// tables are cloned; what follows gives way to it. done, which may be nil, is
// told now and then how many records of how many are folded.
//
// It may run in any process, several times at once, beside any number of
// projectors, but not while a rebuild is swapped in (ErrBusy). When it is cut
// short its tables are removed, at the latest by a projector after some hours.
func (p *Projector) Verify(ctx context.Context, name string, done func(folded, of int64)) (Verification, error) {
	began := time.Now()
	projection, err := p.projection(name)
	if err != nil {
		return Verification{}, err
	}
	v := &verifying{projector: p, projection: projection, suffix: "__v" + strings.ToLower(rand.Text()[:8])}
	defer v.clean(context.WithoutCancel(ctx))
	if err := v.prepare(ctx); err != nil {
		return Verification{}, err
	}
	records, err := v.fold(ctx, done)
	if err != nil {
		return Verification{}, fmt.Errorf("folding the log of %s again: %w", name, err)
	}
	found, err := compare(ctx, p.cfg.ClickHouse, projection,
		side{suffix: cloneSuffix(v.suffix), alone: true},
		side{suffix: v.suffix, alone: true})
	if err != nil {
		return Verification{}, err
	}
	if found == nil {
		found = Differences{}
	}
	return Verification{
		Projection: name, Generation: v.live.Generation.Generation, Position: v.at.positions().String(), Records: records,
		Equal: len(found) == 0, Differences: found, Seconds: time.Since(began).Seconds(),
	}, nil
}

func (p *Projector) projection(name string) (Projection, error) {
	i := slices.IndexFunc(p.cfg.Projections, func(q Projection) bool { return q.Name == name })
	if i < 0 {
		return Projection{}, fmt.Errorf("%w: %q", ErrUnknownProjection, name)
	}
	return p.cfg.Projections[i], nil
}

// verifying is one verification under way.
type verifying struct {
	projector  *Projector
	projection Projection
	suffix     string // of the scratch tables
	live       tables.Mark
	from, at   vector
}

// all are the tables that are compared: the projection's and its quarantine.
func (v *verifying) all() []tables.Table {
	return append(slices.Clone(v.projection.Tables), tables.Quarantine())
}

// prepare makes the scratch tables, holds the live generation and clones its
// tables.
func (v *verifying) prepare(ctx context.Context) error {
	p := v.projector
	s, err := look(ctx, p.cfg.ClickHouse)
	if err != nil {
		return err
	}
	var ok bool
	if v.live, ok = s.live(v.projection); !ok || s.mixed(v.projection) {
		return fmt.Errorf("%w: %s", ErrNoTables, v.projection.Name)
	}
	if v.live.Version != v.projection.Version {
		return fmt.Errorf("%w: the tables of %s are of version %d, this binary folds version %d", errOtherVersion, v.projection.Name, v.live.Version, v.projection.Version)
	}
	if m, ok := s.building(v.projection); ok && m.State == tables.Swapping {
		return fmt.Errorf("%w: %s is being swapped; ask again in a moment", ErrBusy, v.projection.Name)
	}
	scratch := tables.Mark{Generation: v.live.Generation, State: tables.Scratch, Since: s.now.UnixMilli()}
	o := p.cfg.Tables
	o.Fsync = false
	for _, t := range v.all() {
		if err := p.exec(ctx, t.CreateMarked(t.Name+v.suffix, scratch, o)); err != nil {
			return err
		}
	}
	for range retryTries {
		if err = v.freeze(ctx, scratch); !errors.Is(err, errRetrying) {
			return err
		}
		pause(ctx, p.retryEvery)
	}
	return err
}

// errRetrying means that rows of records that are retried are on their way: the
// tables hold some of them, the quarantine still lists them.
var errRetrying = fmt.Errorf("%w: records in quarantine are being retried; ask again in a moment", ErrBusy)

// retryTries is how often a comparison lets a retry end before it gives up.
const retryTries = 10

// freeze clones the live tables at one vector, v.at.
func (v *verifying) freeze(ctx context.Context, scratch tables.Mark) error {
	p, marked := v.projector, v.projection.Tables[0].Name+v.suffix
	if _, err := p.hold(ctx, marked, scratch, tables.HoldLive); err != nil {
		return err
	}
	defer func() { _ = p.remark(context.WithoutCancel(ctx), marked, scratch) }()
	defer p.keepHeld(ctx, marked, scratch, tables.HoldLive)()
	return p.whileStale(ctx, func(wait context.Context) error {
		owner, err := p.takeCustody(wait, v.projection, liveFilling(v.live.Generation))
		if err != nil {
			return err
		}
		defer owner.release()
		if v.at, err = owner.settle(ctx); err != nil {
			return err
		}
		// A leader that planned before it saw the hold may be inserting; one that plans now will see it.
		if busy, err := p.retrying(ctx, v.projection.Name, v.live.Generation.Generation); busy || err != nil {
			return cmp.Or(err, errRetrying)
		}
		if err := v.clone(ctx); err != nil {
			return err
		}
		return owner.current()
	})
}

// clone copies the live tables as they are, and reads where they began.
func (v *verifying) clone(ctx context.Context) error {
	p, clones := v.projector, cloneSuffix(v.suffix)
	for _, t := range v.all() { // of a try that lost its custody
		if err := p.exec(ctx, tables.Drop(t.Name+clones)); err != nil {
			return err
		}
	}
	for _, t := range v.projection.Tables {
		if err := p.exec(ctx, tables.Clone(t.Name, t.Name+clones)); err != nil {
			return err
		}
	}
	if err := p.cloneQuarantine(ctx, v.live.Generation, clones); err != nil {
		return err
	}
	known, err := readStarts(ctx, p.cfg.ClickHouse, v.projection.Name, v.live.Generation.Generation)
	if err != nil {
		return err
	}
	v.from = vector{}
	for tp := range v.at {
		v.from[tp] = known[tp]
	}
	return nil
}

// cloneQuarantine copies a generation's rows of the shared table.
func (p *Projector) cloneQuarantine(ctx context.Context, g tables.Generation, clones string) error {
	t := tables.Quarantine()
	o := p.cfg.Tables
	o.Fsync = false
	if err := p.exec(ctx, t.Create(t.Name+clones, g, o)); err != nil {
		return err
	}
	return p.exec(ctx, "INSERT INTO `"+t.Name+clones+"` SELECT * FROM quarantine WHERE "+inQuarantine(g.Projection, g.Generation))
}

// fold folds the log from the first offsets up to v.at into the scratch tables.
func (v *verifying) fold(ctx context.Context, done func(folded, of int64)) (int64, error) {
	p := v.projector
	target, err := newSink(ctx, p.cfg.ClickHouse, p.cfg.Blocks, v.live.Generation, v.suffix, p.spare)
	if err != nil {
		return 0, err
	}
	target.alone = true
	work, ctx := errgroup.WithContext(ctx)
	tally := &tally{done: done}
	for tp, to := range v.at {
		tally.of += to - v.from[tp]
	}
	for tp, to := range v.at {
		if to <= v.from[tp] {
			continue
		}
		f := p.folder(v.projection, filling{Generation: v.live.Generation, suffix: v.suffix, label: v.projection.Name + " verify"}, target, tally, tp)
		f.end = to
		work.Go(func() error {
			if err := f.stream(ctx, v.from[tp]); err != nil {
				return f.advice(err)
			}
			return nil
		})
	}
	return tally.of, work.Wait()
}

// tally stands for the commits of a fold that nobody else takes part in and that
// begins anew when it is cut short: it only counts.
type tally struct {
	folded atomic.Int64
	of     int64
	done   func(folded, of int64)
}

func (t *tally) Plan(_ context.Context, _ eventlog.TopicPartition, from, to int64, _, _ eventlog.Witness) error {
	folded := t.folded.Add(to - from)
	if t.done != nil {
		t.done(folded, t.of)
	}
	return nil
}

func (t *tally) Advance(context.Context, eventlog.TopicPartition, int64, eventlog.Witness) error {
	return nil
}

// clean drops everything that was made.
func (v *verifying) clean(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, suffix := range []string{cloneSuffix(v.suffix), v.suffix} {
		for _, t := range v.all() {
			if err := v.projector.exec(ctx, tables.Drop(t.Name+suffix)); err != nil {
				v.projector.cfg.Logger.Warn("scratch tables could not be dropped; a projector does it later", "error", err)
				return
			}
		}
	}
}
