package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"weir/eventlog"
)

// write puts a block into its tables: plan, insert, advance. When it returns
// nil the checkpoint is after the block; after any error the block may be in
// the tables or not, and repeating the same plan settles it.
func (f *partition) write(ctx context.Context, block *folding) error {
	if block.to == block.from {
		return nil
	}
	if block.records > 0 {
		if err := f.put(ctx, block); err != nil {
			return err
		}
	}
	if err := f.advance(ctx, block); err != nil {
		return err
	}
	f.projector.pressure.folded(f.building, block.last)
	f.counters.block(block.records, len(block.refused), block.bytes)
	if n := len(block.refused); n > 0 {
		f.logger.Warn("records could not be folded and are in quarantine", "records", n, "from", block.from, "to", block.to)
	}
	return nil
}

func (f *partition) put(ctx context.Context, block *folding) error {
	blocks := block.block(f.projection.Name, f.generation)
	owned, err := f.plan(ctx, block)
	if err != nil {
		return err
	}
	for _, b := range blocks {
		if b.Rows == 0 {
			continue
		}
		if owned, err = f.insert(ctx, block, b, owned); err != nil {
			return err
		}
	}
	return nil
}

// insert repeats one insert until it is taken. Before every try it makes sure
// that this projector is still the owner, unless that was proved (owned) within
// the last second of wall time.
func (f *partition) insert(ctx context.Context, block *folding, b Block, owned time.Time) (time.Time, error) {
	name := token(f.projection.Name, f.generation, f.tp, block.from, block.to, b.Table.Name)
	wait := backoff{}
	for {
		// Round(0): by the wall clock, because the other one stands still while
		// a machine is suspended.
		if age := time.Now().Round(0).Sub(owned.Round(0)); age > membershipAge || age < 0 {
			var err error
			if owned, err = f.plan(ctx, block); err != nil {
				return owned, err
			}
		}
		began := time.Now()
		err := f.sink.insert(ctx, name, b)
		f.counters.insert(b.Table.Name, time.Since(began), err)
		switch {
		case err == nil:
			f.projector.problems.solve(f.label, &f.tp)
			return owned, nil
		case ctx.Err() != nil:
			return owned, ctx.Err()
		case refold(err):
			return owned, fmt.Errorf("%w: %w", errRefold, err)
		}
		f.projector.trouble(f.label, &f.tp, err)
		pause(ctx, wait.next(err))
	}
}

// ClickHouse's error codes for tables that are not the ones we were filling.
const (
	codeUnknownTable       = 60
	codeUnknownDatabase    = 81
	codeViolatedConstraint = 469 // the fence of another generation
)

func refold(err error) bool {
	var e *clickhouse.Exception
	if !errors.As(err, &e) {
		return false
	}
	return e.Code == codeUnknownTable || e.Code == codeUnknownDatabase || e.Code == codeViolatedConstraint
}

// plan commits the block's ends and returns when that was asked for: the time at
// which this projector was the owner for certain.
func (f *partition) plan(ctx context.Context, block *folding) (time.Time, error) {
	var at time.Time
	err := f.commit(ctx, func() error {
		at = time.Now()
		return f.commits.Plan(ctx, f.tp, block.from, block.to, f.last, block.witness(f.last))
	})
	if err != nil {
		err = fmt.Errorf("planning [%d,%d): %w", block.from, block.to, err)
	}
	return at, err
}

func (f *partition) advance(ctx context.Context, block *folding) error {
	last := block.witness(f.last)
	err := f.commit(ctx, func() error { return f.commits.Advance(ctx, f.tp, block.to, last) })
	if err != nil {
		return fmt.Errorf("advancing to %d: %w", block.to, err)
	}
	f.last = last
	return nil
}

// commit repeats a commit whose outcome is unknown. The same commit again, and
// no other one before its outcome is known: so two different plans for the same
// offsets never exist.
func (f *partition) commit(ctx context.Context, try func() error) error {
	wait := backoff{}
	for {
		err := try()
		if !errors.Is(err, eventlog.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		f.projector.trouble(f.label, &f.tp, err)
		pause(ctx, wait.next(err))
	}
}
