package projections

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/eventlog"
	"weir/readmodel/tables"
)

// ErrHalted means that going on could lose or double something. The text says
// what was found and what to do. It is looked at again every half a minute.
var ErrHalted = errors.New("folding is halted")

// errOtherVersion means that the live tables are another binary's to fold, and
// errMixed that a swap is half done. Both end by themselves.
var (
	errOtherVersion = errors.New("tables of another version")
	errMixed        = errors.New("tables of different generations")
)

// found is one physical table as ClickHouse has it.
type found struct {
	generation tables.Generation
	rows       uint64
	exists     bool
}

// groups is the part of the log that knows consumer groups.
type groups interface {
	Groups(ctx context.Context, prefix string) ([]string, error)
	Checkpoints(ctx context.Context, group string, topics []string) (map[eventlog.TopicPartition]eventlog.Checkpoint, error)
}

// live makes sure that a projection's tables are there and returns the
// generation they are. Any number of projectors may call it at once: tables are
// made with IF NOT EXISTS, and what counts is the comment of the table that is
// there afterwards.
//
// Fresh tables get the first generation that no group has offsets for and no
// quarantined record belongs to, so that a dropped table is folded again from
// the first offset, with tokens never used before.
func live(ctx context.Context, conn driver.Conn, log groups, p Projection, o tables.Options) (tables.Generation, error) {
	if err := ctx.Err(); err != nil {
		return tables.Generation{}, err
	}
	ctx, cancel := steady(ctx)
	defer cancel()
	if err := MakeShared(ctx, conn, o); err != nil {
		return tables.Generation{}, err
	}
	have, err := inspect(ctx, conn, p)
	if err != nil {
		return tables.Generation{}, err
	}
	g, fresh := p.agreed(have)
	if fresh {
		if g.Generation, err = nextGeneration(ctx, conn, log, p.Name); err != nil {
			return g, err
		}
	}
	if err := p.complete(ctx, conn, log, have, g, o); err != nil {
		return g, err
	}
	if have, err = inspect(ctx, conn, p); err != nil {
		return g, err
	}
	if g, err = p.check(have); err != nil {
		return g, err
	}
	return g, p.checkCheckpoints(ctx, log, have, g)
}

// MakeShared makes the tables that all projections share, if they are not there.
// A process that only reads calls it, too: it may be newer than every projector.
func MakeShared(ctx context.Context, conn driver.Conn, o tables.Options) error {
	for _, t := range []tables.Table{tables.Quarantine(), tables.FoldStarts(), tables.QuarantineRetries(), tables.Checks()} {
		g := tables.Generation{Projection: t.Name, Version: 1, Generation: 1}
		if err := conn.Exec(ctx, t.Create(t.Name, g, o)); err != nil {
			return fmt.Errorf("making table %s: %w", t.Name, err)
		}
	}
	return nil
}

// inspect reads what there is of a projection's tables.
func inspect(ctx context.Context, conn driver.Conn, p Projection) ([]found, error) {
	have := make([]found, len(p.Tables))
	for i, t := range p.Tables {
		var comment string
		var rows *uint64
		err := conn.QueryRow(ctx, "SELECT any(comment), any(total_rows), count() > 0 FROM system.tables WHERE database = currentDatabase() AND name = ?", t.Name).
			Scan(&comment, &rows, &have[i].exists)
		if err != nil {
			return nil, fmt.Errorf("looking for table %s: %w", t.Name, err)
		}
		if !have[i].exists {
			continue
		}
		if rows != nil {
			have[i].rows = *rows
		}
		if have[i].generation, err = tables.ParseComment(comment); err != nil {
			return nil, fmt.Errorf("%w: table %s is not one of ours (%w); rename it or give Weir another database", ErrHalted, t.Name, err)
		}
	}
	return have, nil
}

// agreed is the generation of the tables that are there; fresh when none is.
func (p Projection) agreed(have []found) (g tables.Generation, fresh bool) {
	for _, f := range have {
		if f.exists {
			return f.generation, false
		}
	}
	return tables.Generation{Projection: p.Name, Version: p.Version}, true
}

// complete makes the tables that are missing. When others of the projection are
// there, that is only safe while nothing was folded into them: the projector
// that was making them died on the way.
func (p Projection) complete(ctx context.Context, conn driver.Conn, log groups, have []found, g tables.Generation, o tables.Options) error {
	var missing []string
	for i, f := range have {
		if !f.exists {
			missing = append(missing, p.Tables[i].Name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	started, err := started(ctx, log, Group(p.Name, g.Generation), p.Topics)
	if err != nil {
		return err
	}
	if started {
		return fmt.Errorf("%w: table %s of projection %s is missing while its other tables of generation %d are there and partly filled; drop those too (%s) to fold all of them again",
			ErrHalted, strings.Join(missing, ", "), p.Name, g.Generation, p.names())
	}
	for _, t := range p.Tables {
		if err := conn.Exec(ctx, t.Create(t.Name, g, o)); err != nil {
			return fmt.Errorf("making table %s: %w", t.Name, err)
		}
	}
	return nil
}

// check makes sure that all tables are of one generation, ours.
func (p Projection) check(have []found) (tables.Generation, error) {
	g := have[0].generation
	for i, f := range have {
		switch {
		case !f.exists:
			return g, fmt.Errorf("table %s of projection %s was dropped just now; trying again", p.Tables[i].Name, p.Name)
		case f.generation != g:
			return g, fmt.Errorf("%w: tables %s of projection %s are of different generations (%v and %v); unless a swap is being finished just now, rebuild them or drop them to fold them again",
				errMixed, p.names(), p.Name, g, f.generation)
		}
	}
	if g.Projection != p.Name {
		return g, fmt.Errorf("%w: tables %s belong to projection %q, not %q; give Weir a database of its own", ErrHalted, p.names(), g.Projection, p.Name)
	}
	switch {
	case g.Version > p.Version:
		return g, fmt.Errorf("%w: the tables of projection %s are of version %d and this binary folds version %d; the newer binaries fold them", errOtherVersion, p.Name, g.Version, p.Version)
	case g.Version < p.Version:
		return g, fmt.Errorf("%w: the tables of projection %s are of version %d; version %d is being built beside them and takes their place when it has caught up. "+
			"Until then only binaries of the old version fold the old tables", errOtherVersion, p.Name, g.Version, p.Version)
	}
	return g, nil
}

// checkCheckpoints refuses to begin at the first offset when there are rows
// already: every row was put in after its partition had a plan committed, so the
// group's offsets were there and are lost.
func (p Projection) checkCheckpoints(ctx context.Context, log groups, have []found, g tables.Generation) error {
	var rows uint64
	for _, f := range have {
		rows += f.rows
	}
	if rows == 0 {
		return nil
	}
	group := Group(p.Name, g.Generation)
	started, err := started(ctx, log, group, p.Topics)
	if err != nil || started {
		return err
	}
	return fmt.Errorf("%w: tables %s hold rows but consumer group %s has no offsets; folding from the start would count everything twice. "+
		"Is this the log these tables were filled from? If it is, its offsets were deleted: rebuild the projection (weir rebuild %s), which fills new tables and leaves these as they are until then",
		ErrHalted, p.names(), group, p.Name)
}

func (p Projection) names() string {
	names := make([]string, len(p.Tables))
	for i, t := range p.Tables {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

// started reports whether a group has an offset for any partition.
func started(ctx context.Context, log groups, group string, topics []string) (bool, error) {
	checkpoints, err := log.Checkpoints(ctx, group, topics)
	if err != nil {
		return false, fmt.Errorf("reading the checkpoints of %s: %w", group, err)
	}
	for _, c := range checkpoints {
		if c.Exists {
			return true, nil
		}
	}
	return false, nil
}

// nextGeneration is one more than any that a group, a table, a start or a
// quarantined record has: insert tokens are never used for a second filling.
func nextGeneration(ctx context.Context, conn driver.Conn, log groups, projection string) (int, error) {
	names, err := log.Groups(ctx, groupPrefix(projection))
	if err != nil {
		return 0, fmt.Errorf("listing consumer groups: %w", err)
	}
	var last uint32
	err = conn.QueryRow(ctx, "SELECT max(generation) FROM quarantine WHERE projection = ?", projection).Scan(&last)
	if err != nil {
		return 0, fmt.Errorf("reading the generations in quarantine: %w", err)
	}
	highest := int(last)
	var begun uint32
	if err := conn.QueryRow(ctx, "SELECT max(generation) FROM fold_starts WHERE projection = ?", projection).Scan(&begun); err != nil {
		return 0, fmt.Errorf("reading the generations that began: %w", err)
	}
	highest = max(highest, int(begun))
	there, err := look(ctx, conn)
	if err != nil {
		return 0, err
	}
	for _, t := range there.tables {
		if t.alien == nil && t.mark.Projection == projection {
			highest = max(highest, t.mark.Generation.Generation)
		}
	}
	for _, name := range names {
		if n, ok := generationOf(projection, name); ok {
			highest = max(highest, n)
		}
	}
	return highest + 1, nil
}
