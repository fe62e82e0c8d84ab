package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/eventlog"
	"weir/readmodel/tables"
)

// Errors of what is asked of Rebuilds. Their texts are for whoever asked.
var (
	// ErrNoTables means that the projection has no live tables yet.
	ErrNoTables = errors.New("the projection has no tables yet")
	// ErrNoRebuild means that no rebuild is under way.
	ErrNoRebuild = errors.New("no rebuild is under way")
	// ErrNothingKept means that there is no old generation.
	ErrNothingKept = errors.New("no old generation is kept")
	// ErrBusy means that a rebuild is under way, which must end or be canceled first.
	ErrBusy = errors.New("a rebuild is under way")
)

// Rebuilds takes wishes about generations: it writes them into the tables'
// comments, where projectors find them within a second. It runs in any process,
// with or without a projector, and every method may be called again, and by
// several at once, to the same end.
type Rebuilds struct {
	Log        *eventlog.Log
	ClickHouse driver.Conn
	// Projections that may be asked for.
	Projections []Projection
	// Tables are the settings of the tables that are made.
	Tables tables.Options
}

func (r Rebuilds) projection(name string) (Projection, error) {
	i := slices.IndexFunc(r.Projections, func(p Projection) bool { return p.Name == name })
	if i < 0 {
		return Projection{}, fmt.Errorf("%w: %q", ErrUnknownProjection, name)
	}
	return r.Projections[i], nil
}

func (r Rebuilds) survey(ctx context.Context, name string) (Projection, *survey, error) {
	p, err := r.projection(name)
	if err != nil {
		return p, nil, err
	}
	s, err := look(ctx, r.ClickHouse)
	return p, s, err
}

// Ask begins a rebuild and returns the generation that is being built: the one
// under way if there is one. With accept, its tables become live even if they
// differ from the live ones; given for one under way, it is accepted, too.
func (r Rebuilds) Ask(ctx context.Context, name string, accept bool) (int, error) {
	p, s, err := r.survey(ctx, name)
	if err != nil {
		return 0, err
	}
	if _, ok := s.live(p); !ok {
		return 0, fmt.Errorf("%w: %s; a projector makes and fills them at its start", ErrNoTables, name)
	}
	if m, ok := s.building(p); ok {
		if !accept || m.Accept {
			return m.Generation.Generation, nil
		}
		m.Accept, m.State = true, tables.Building
		return m.Generation.Generation, r.remark(ctx, p, m)
	}
	o := r.Tables
	o.Fence = true
	return ask(ctx, r.ClickHouse, r.Log, p, accept, s.now, o)
}

// ask makes the first table of a new generation, which is the wish for it.
func ask(ctx context.Context, conn driver.Conn, log groups, p Projection, accept bool, now time.Time, o tables.Options) (int, error) {
	number, err := nextGeneration(ctx, conn, log, p.Name)
	if err != nil {
		return 0, err
	}
	m := tables.Mark{
		Generation: tables.Generation{Projection: p.Name, Version: p.Version, Generation: number},
		State:      tables.Building, Since: now.UnixMilli(), Accept: accept,
	}
	first := p.Tables[0]
	if err := conn.Exec(ctx, first.CreateMarked(first.Name+tables.GenerationSuffix(number), m, o)); err != nil {
		return 0, fmt.Errorf("making the tables of generation %d of %s: %w", number, p.Name, err)
	}
	return number, nil
}

func (r Rebuilds) remark(ctx context.Context, p Projection, m tables.Mark) error {
	name := p.Tables[0].Name + tables.GenerationSuffix(m.Generation.Generation)
	if err := r.ClickHouse.Exec(ctx, tables.Remark(name, m)); err != nil {
		return fmt.Errorf("marking table %s: %w", name, err)
	}
	return nil
}

// Cancel drops the generation that is being built. An old generation that is
// being caught up for a rollback is kept, as it was before.
func (r Rebuilds) Cancel(ctx context.Context, name string) (int, error) {
	p, s, err := r.survey(ctx, name)
	if err != nil {
		return 0, err
	}
	m, ok := s.building(p)
	if !ok {
		return 0, fmt.Errorf("%w of projection %s", ErrNoRebuild, name)
	}
	if live, ok := s.live(p); ok && m.Generation.Generation < live.Generation.Generation {
		return m.Generation.Generation, r.remark(ctx, p, tables.Mark{Generation: m.Generation})
	}
	return m.Generation.Generation, r.drop(ctx, p, m.Generation.Generation)
}

// drop drops a generation's tables, its first one first: without it the others
// are rubbish, which lead removes should this end half way.
func (r Rebuilds) drop(ctx context.Context, p Projection, generation int) error {
	for _, t := range p.Tables {
		if err := r.ClickHouse.Exec(ctx, tables.Drop(t.Name+tables.GenerationSuffix(generation))); err != nil {
			return fmt.Errorf("dropping generation %d of %s: %w", generation, p.Name, err)
		}
	}
	for _, t := range []tables.Table{tables.Quarantine(), tables.QuarantineRetries()} {
		err := r.ClickHouse.Exec(ctx, "DELETE FROM "+t.Name+" WHERE projection = ? AND generation = ?", p.Name, generation)
		if err != nil {
			return fmt.Errorf("dropping the %s of generation %d of %s: %w", t.Name, generation, p.Name, err)
		}
	}
	return nil
}

// Rollback makes the newest old generation live again: it is caught up from
// where it was left, beside the live one, and takes its place. It returns the
// generation that comes back.
func (r Rebuilds) Rollback(ctx context.Context, name string) (int, error) {
	p, s, err := r.survey(ctx, name)
	if err != nil {
		return 0, err
	}
	if m, ok := s.building(p); ok {
		if live, _ := s.live(p); m.Generation.Generation < live.Generation.Generation {
			return m.Generation.Generation, nil
		}
		return 0, fmt.Errorf("%w: generation %d of %s; cancel it first", ErrBusy, m.Generation.Generation, name)
	}
	m, ok := s.kept(p)
	if !ok {
		return 0, fmt.Errorf("%w of projection %s", ErrNothingKept, name)
	}
	if m.Version != p.Version {
		return 0, fmt.Errorf("%w that this binary can fold: generation %d of %s is of version %d, the binary of version %d; roll back with that binary",
			ErrNothingKept, m.Generation.Generation, name, m.Version, p.Version)
	}
	m.State, m.Since, m.Accept = tables.Building, s.now.UnixMilli(), true
	return m.Generation.Generation, r.remark(ctx, p, m)
}

// DropOld drops every old generation that is kept and returns them.
func (r Rebuilds) DropOld(ctx context.Context, name string) ([]int, error) {
	p, s, err := r.survey(ctx, name)
	if err != nil {
		return nil, err
	}
	dropped := []int{}
	for suffix, m := range s.others(p) {
		if m.State != tables.Serving || suffix != tables.GenerationSuffix(m.Generation.Generation) {
			continue
		}
		if err := r.drop(ctx, p, m.Generation.Generation); err != nil {
			return dropped, err
		}
		dropped = append(dropped, m.Generation.Generation)
	}
	slices.Sort(dropped)
	return dropped, nil
}
