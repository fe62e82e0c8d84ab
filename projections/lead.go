package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/eventlog"
	"weir/readmodel/tables"
)

const (
	// leadEvery is how often the leader looks what is to be done.
	leadEvery = 500 * time.Millisecond
	// custodyTime bounds the wait until every projector has stepped aside; one
	// that died without leaving is forgotten by its group within it.
	custodyTime = 20 * time.Second
)

// lead is the third loop of a projection: it does what one projector must do for
// all, and only in one process at a time, namely the one that owns the only
// partition of weir.control in a group of its own. Should two believe to lead
// (one was paused), no harm is done: every step is safe to repeat, and what the
// tables hold depends on their own group's checkpoints alone.
//
// It finishes swaps that were cut short, removes rubbish, asks for a rebuild
// when the live tables are of an older version, compares and swaps generations
// that have caught up, and retries records in quarantine.
func (p *Projector) lead(ctx context.Context, projection Projection) error {
	group := "weir." + projection.Name + ".v" + strconv.Itoa(projection.Version) + ".lead"
	m, err := p.cfg.Log.Join(ctx, group, []string{eventlog.ControlTopic})
	if err != nil {
		return fmt.Errorf("joining %s: %w", group, err)
	}
	defer p.leave(m)
	for {
		a, err := m.Next(ctx)
		if err != nil {
			return err
		}
		if len(a.Partitions) == 0 {
			continue
		}
		leading, stop := context.WithCancel(ctx)
		unhook := context.AfterFunc(a.Context(), stop)
		err = p.leadUntil(leading, projection)
		unhook()
		stop()
		if err != nil {
			return err
		}
	}
}

func (p *Projector) leadUntil(ctx context.Context, projection Projection) error {
	if err := p.endHolds(ctx, projection); err != nil && ctx.Err() == nil {
		return err
	}
	var looked time.Time
	for ctx.Err() == nil {
		err := p.step(ctx, projection)
		if (err == nil || errors.Is(err, errQuiet)) && time.Since(looked) > p.retryEvery {
			looked = time.Now()
			err = p.retry(ctx, projection)
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, errQuiet) {
			return err
		}
		p.problems.solve(leadLabel(projection.Name), nil)
		pause(ctx, leadEvery)
	}
	return nil
}

// step does what is next.
func (p *Projector) step(ctx context.Context, projection Projection) error {
	s, err := look(ctx, p.cfg.ClickHouse)
	if err != nil {
		return err
	}
	live, ok := s.live(projection)
	if !ok || live.Version > projection.Version {
		return errQuiet
	}
	if done, err := p.tidy(ctx, projection, s); done || err != nil {
		return err
	}
	m, building := s.building(projection)
	if !building {
		if live.Version < projection.Version {
			return p.askForNewVersion(ctx, projection, live, s)
		}
		return errQuiet
	}
	if m.Version != projection.Version {
		return errQuiet
	}
	switch m.State {
	case tables.Building:
		// Before its group is joined: a table that is missing afterwards was dropped by somebody.
		if err := p.completeBuilding(ctx, projection, s, m.Generation); err != nil {
			return err
		}
		return p.compareWhenThere(ctx, projection, live, m)
	case tables.Swapping:
		return p.swap(ctx, projection, live, m)
	}
	return errQuiet
}

func (p *Projector) askForNewVersion(ctx context.Context, projection Projection, live tables.Mark, s *survey) error {
	g, err := ask(ctx, p.cfg.ClickHouse, p.cfg.Log, projection, true, s.now, p.cfg.Tables)
	if err == nil {
		p.cfg.Logger.Info("the tables are of an older version; the new one is built beside them", "projection", projection.Name,
			"old_version", live.Version, "version", projection.Version, "generation", g)
	}
	return err
}

// tidy finishes what a crash cut short. It reports whether it did anything.
func (p *Projector) tidy(ctx context.Context, projection Projection, s *survey) (bool, error) {
	if s.mixed(projection) {
		return true, p.finishSwap(ctx, projection, s)
	}
	live, _ := s.live(projection)
	if live.State != tables.Serving || live.Hold != tables.HoldNone || live.Since != 0 || live.Accept {
		return true, p.remark(ctx, projection.Tables[0].Name, tables.Mark{Generation: live.Generation})
	}
	for _, t := range append(slices.Clone(projection.Tables), tables.Quarantine()) {
		for name, found := range s.tables {
			suffix, ours := strings.CutPrefix(name, t.Name+"__")
			if !ours || found.alien != nil || found.mark.Projection != projection.Name {
				continue
			}
			done, err := p.tidyTable(ctx, projection, s, t, "__"+suffix, found)
			if done || err != nil {
				return done, err
			}
		}
	}
	return false, nil
}

// tidyTable gives an old table that a swap left under the new one's name its own,
// and drops tables whose generation was canceled or whose owner died.
func (p *Projector) tidyTable(ctx context.Context, projection Projection, s *survey, t tables.Table, suffix string, found physical) (bool, error) {
	owner := suffix
	if whose, clone := strings.CutPrefix(suffix, clonePrefix); clone {
		owner = "__" + whose
	}
	first := s.tables[projection.Tables[0].Name+owner]
	right := tables.GenerationSuffix(found.mark.Generation.Generation)
	switch _, taken := s.tables[t.Name+right]; {
	case strings.HasPrefix(suffix, "__g") && suffix != right && !taken:
		return true, p.exec(ctx, tables.Rename(found.name, t.Name+right))
	case first.mark.State == tables.Scratch && s.now.UnixMilli() < first.mark.Since+scratchLife.Milliseconds():
		return false, nil
	case first.name == "" || first.mark.State == tables.Scratch:
		p.cfg.Logger.Info("dropping a table that belongs to nothing any more", "table", found.name)
		return true, p.exec(ctx, tables.Drop(found.name))
	}
	return false, nil
}

// clonePrefix begins the suffix of clones of the live tables; what follows is the
// suffix, without underscores, of the tables they are compared with.
const clonePrefix = "__c"

func cloneSuffix(owner string) string { return clonePrefix + strings.TrimPrefix(owner, "__") }

// scratchLife is when scratch tables are rubbish: whoever made them died.
const scratchLife = 6 * time.Hour

// finishSwap exchanges the tables that a swap has left behind. The first table
// goes first, so its generation is the one that was wanted.
func (p *Projector) finishSwap(ctx context.Context, projection Projection, s *survey) error {
	first, _ := s.live(projection)
	suffix := tables.GenerationSuffix(first.Generation.Generation)
	var pairs [][2]string
	for _, t := range projection.Tables[1:] {
		if s.tables[t.Name].mark.Generation == first.Generation {
			continue
		}
		if other, ok := s.tables[t.Name+suffix]; !ok || other.mark.Generation != first.Generation {
			return fmt.Errorf("%w: table %s is not of generation %d as %s is, and %s is not there to take its place; drop the tables %s to fold them again",
				ErrHalted, t.Name, first.Generation.Generation, projection.Tables[0].Name, t.Name+suffix, projection.names())
		}
		pairs = append(pairs, [2]string{t.Name, t.Name + suffix})
	}
	p.cfg.Logger.Info("finishing a swap that was cut short", "projection", projection.Name, "generation", first.Generation.Generation)
	return p.exec(ctx, tables.Exchange(pairs))
}

// exec runs a statement that changes tables or their marks.
func (p *Projector) exec(ctx context.Context, statement string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	steady, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*lookTimeout)
	defer cancel()
	err := p.faultyExec(statement, func() error { return p.cfg.ClickHouse.Exec(steady, statement) })
	if err != nil {
		return fmt.Errorf("%.200s: %w", statement, err)
	}
	return nil
}
