package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"weir/eventlog"
)

// noEnd means that a partition is followed for ever.
const noEnd int64 = -1

// partition folds one partition for as long as its assignment lasts.
type partition struct {
	projector  *Projector
	projection Projection
	generation int
	label      string // in problems and metrics
	building   bool   // it gives way to the live generations
	end        int64  // offset to stop at, or noEnd
	tp         eventlog.TopicPartition
	last       eventlog.Witness // of the last record that is folded; the writer's
	commits    commits
	sink       sink
	turn       turn
	logger     *slog.Logger
	counters   counters
}

// run goes on from the checkpoint, again after every error, until ctx or the partition's
// end is reached (nil), ownership is lost (eventlog.ErrStale) or the tables are others (errRefold).
func (f *partition) run(ctx context.Context) error {
	defer f.projector.problems.solve(f.label, &f.tp)
	wait := backoff{}
	for {
		began := time.Now()
		err := f.resume(ctx)
		switch {
		case ctx.Err() != nil, err == nil:
			return nil
		case errors.Is(err, errRefold), errors.Is(err, eventlog.ErrStale):
			return err
		}
		if time.Since(began) > time.Minute {
			wait = backoff{}
		}
		f.projector.trouble(f.label, &f.tp, f.advice(err))
		pause(ctx, wait.next(err))
	}
}

// advice adds what to do to the errors that take a human.
func (f *partition) advice(err error) error {
	group := Group(f.projection.Name, f.generation)
	switch {
	case errors.Is(err, eventlog.ErrBehindRetention):
		return fmt.Errorf("%w; these records are gone, nothing was skipped: keep the log longer than projectors may be away, "+
			"and fold what is left into new tables with weir rebuild %s --accept", err, f.projection.Name)
	case errors.Is(err, eventlog.ErrPastEnd):
		return fmt.Errorf("%w; the log is shorter than what %s has folded: restore the log, "+
			"or fold this log into new tables with weir rebuild %s --accept", err, group, f.projection.Name)
	case errors.Is(err, eventlog.ErrRewritten):
		return fmt.Errorf("%w; the topic was deleted and made again, or an unclean leader election cut it short, after %s had folded it that far, and it has grown since: "+
			"restore the log, or fold this log into new tables with weir rebuild %s --accept", err, group, f.projection.Name)
	case errors.Is(err, eventlog.ErrCorrupt):
		return fmt.Errorf("%w; restore this part of the log from a replica or a backup, "+
			"nothing after it is folded in this partition until then; other partitions go on. "+
			"If the records are lost for good, note the offset and move the consumer group %s past it with Kafka's tools, while no projector runs", err, group)
	}
	return err
}

// resume repeats the block a predecessor planned, if there is one, and then
// folds what follows.
func (f *partition) resume(ctx context.Context) error {
	checkpoint, err := f.checkpoint(ctx)
	if err != nil {
		return err
	}
	if err := f.projector.unbroken(ctx, f.tp, checkpoint); err != nil {
		return err
	}
	f.last = checkpoint.Before
	if checkpoint.Planned >= 0 {
		if err := f.repeat(ctx, checkpoint.Offset, checkpoint.Planned); err != nil {
			return err
		}
		checkpoint.Offset = checkpoint.Planned
	}
	return f.stream(ctx, checkpoint.Offset)
}

// unbroken makes sure that the log before a checkpoint, and what was planned after it, is
// what was folded or planned then.
func (p *Projector) unbroken(ctx context.Context, tp eventlog.TopicPartition, c eventlog.Checkpoint) error {
	for _, w := range []eventlog.Witness{c.Before, c.Last} {
		if err := p.cfg.Log.Confirm(ctx, tp, w); err != nil {
			return err
		}
	}
	return nil
}

// checkpoint is where to go on. There is one since the assignment began (see
// Projector.begin); a topic that is deleted takes it along.
func (f *partition) checkpoint(ctx context.Context) (eventlog.Checkpoint, error) {
	group := Group(f.projection.Name, f.generation)
	all, err := f.projector.cfg.Log.Checkpoints(ctx, group, []string{f.tp.Topic})
	if err != nil {
		return eventlog.Checkpoint{}, fmt.Errorf("reading the checkpoint of %s: %w", group, err)
	}
	if c := all[f.tp]; c.Exists {
		return c, nil
	}
	return eventlog.Checkpoint{}, lostCheckpoint(f.projection, f.generation, f.tp)
}

// repeat folds exactly the records of a planned block and writes them with the
// same tokens as before.
func (f *partition) repeat(ctx context.Context, from, to int64) error {
	f.logger.Info("repeating a planned block", "from", from, "to", to)
	block := newFolding(f.projection.New())
	block.begin(from)
	for next := from; next < to; {
		chunk, err := f.projector.cfg.Log.Fetch(ctx, f.tp.Topic, f.tp.Partition, next, laggingFetch, fetchWait)
		if err != nil {
			return err
		}
		if chunk.Next <= next && chunk.HighWatermark < to {
			return fmt.Errorf("%w: a block up to offset %d was planned, the log ends at %d", eventlog.ErrPastEnd, to, chunk.HighWatermark)
		}
		next = min(chunk.Next, to)
		block.add(before(chunk.Records, to), next)
	}
	return f.write(ctx, block)
}

// before cuts the records at offset to and later.
func before(records []eventlog.Record, to int64) []eventlog.Record {
	for n := len(records); n > 0; n-- {
		if records[n-1].Offset < to {
			return records[:n]
		}
	}
	return nil
}

// stream folds from an offset on, until the partition's end if it has one. Three stages overlap: fetching, folding, and
// writing the block before.
func (f *partition) stream(ctx context.Context, from int64) error {
	work, ctx := errgroup.WithContext(ctx)
	f.turn = turn{all: f.projector.turns}
	f.projector.streams.Add(1)
	defer f.projector.streams.Add(-1)
	fetched := make(chan portion) // what is fetched ahead is in the hands of the stage that fetches
	full := make(chan *pending)
	free := make(chan *pending, 2)
	for range cap(free) {
		free <- &pending{folding: newFolding(f.projection.New())}
	}
	work.Go(func() error { return f.fetch(ctx, from, fetched) })
	work.Go(func() error { return f.collect(ctx, from, fetched, free, full) })
	work.Go(func() error { return f.writeAll(ctx, full, free) })
	defer f.turn.end()
	return work.Wait()
}
