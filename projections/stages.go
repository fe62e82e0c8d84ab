package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/eventlog"
)

// portion is what one fetch brought.
type portion struct {
	records []eventlog.Record
	from    int64 // offset of what is not folded yet
	next    int64 // offset after the portion
	lagging bool  // there is more in the log
	held    int64 // bytes taken from the shared memory
}

// pending is a block on its way to the tables.
type pending struct {
	*folding
	held int64
}

// fetch reads ahead, with small requests at the end of the log and large ones,
// which share a bounded memory, behind it.
func (f *partition) fetch(ctx context.Context, from int64, to chan<- portion) error {
	lagging, reached := false, false
	following := continuing(f.last)
	for {
		if f.end != noEnd && from >= f.end {
			close(to)
			return nil
		}
		if f.building {
			f.projector.pressure.giveWay(ctx)
		}
		size, held := liveFetch, int64(0)
		if lagging {
			size, held = laggingFetch, 2*laggingFetch
			if err := f.projector.memory.Acquire(ctx, held); err != nil {
				return err
			}
		}
		began := time.Now()
		chunk, err := f.projector.cfg.Log.Fetch(ctx, f.tp.Topic, f.tp.Partition, from, size, fetchWait)
		if err == nil {
			err = following.check(ctx, f.projector.cfg.Log, f.tp, began, chunk)
		}
		if err != nil {
			f.projector.memory.Release(held)
			return err
		}
		if !reached {
			reached = true
			f.projector.problems.solve(f.label, &f.tp)
		}
		lagging = chunk.Next < chunk.HighWatermark
		if chunk.Next == from {
			f.projector.memory.Release(held)
			if f.end != noEnd && chunk.HighWatermark < f.end {
				return fmt.Errorf("%w: %s partition %d is to be folded up to offset %d and ends at %d", eventlog.ErrPastEnd, f.tp.Topic, f.tp.Partition, f.end, chunk.HighWatermark)
			}
			continue
		}
		if lagging && !f.building {
			f.projector.pressure.lagging()
		}
		if f.end != noEnd && chunk.Next > f.end {
			chunk.Records, chunk.Next = before(chunk.Records, f.end), f.end
		}
		from = chunk.Next
		select {
		case to <- portion{records: chunk.Records, next: chunk.Next, lagging: lagging, held: held}:
		case <-ctx.Done():
			f.projector.memory.Release(held)
			return ctx.Err()
		}
	}
}

// collect folds portions into blocks and hands each to the writer once it is
// full or has lingered. While the writer is busy with the block before, a block
// goes on growing, so that blocks get larger by themselves when inserts are
// slow.
func (f *partition) collect(ctx context.Context, from int64, fetched <-chan portion, free <-chan *pending, full chan<- *pending) error {
	defer close(full)
	var rest portion   // of the last portion, what did not fit into its block
	var last time.Time // when the block before was handed over
	defer func() { f.projector.memory.Release(rest.held) }()
	for {
		var block *pending
		select {
		case block = <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
		block.begin(from)
		if err := f.fill(ctx, block, &rest, last, fetched, full); err != nil {
			f.drop(block)
			if errors.Is(err, errOver) {
				return nil
			}
			return err
		}
		from, last = rest.from, time.Now()
	}
}

// errOver means that the partition's end is reached and nothing is left to hand over.
var errOver = errors.New("the end is reached")

// fill folds into one block until the writer has taken it.
func (f *partition) fill(ctx context.Context, block *pending, rest *portion, last time.Time, fetched <-chan portion, full chan<- *pending) error {
	var lingered <-chan time.Time
	ready := false
	for {
		if rest.next != 0 {
			f.take(block, rest)
			if lingered == nil {
				lingered = time.After(f.linger(rest.lagging, time.Since(last)))
			}
		}
		in, out := fetched, chan<- *pending(nil)
		if f.isFull(block) {
			in, ready = nil, true
		}
		if ready {
			out = full
		}
		select {
		case next, more := <-in:
			if !more && block.to == block.from {
				return errOver
			}
			if !more {
				fetched, ready = nil, true
				continue
			}
			*rest = next
		case out <- block:
			return nil
		case <-lingered:
			ready = true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *partition) isFull(block *pending) bool {
	return block.records >= f.projector.cfg.BlockRecords || block.bytes >= f.projector.cfg.BlockBytes
}

// take folds as much of a portion as the block has room for. Who takes the last
// of it takes over its memory.
func (f *partition) take(block *pending, rest *portion) {
	room := f.projector.cfg.BlockRecords - block.records
	if len(rest.records) > room {
		rest.from = rest.records[room].Offset
		block.add(rest.records[:room], rest.from)
		rest.records = rest.records[room:]
		return
	}
	block.add(rest.records, rest.next)
	block.held += rest.held
	*rest = portion{from: rest.next, lagging: rest.lagging}
}

// linger is how long a block waits for more after its first record: the rest of
// the pace since the block before, so that a lone event is folded almost at once
// and a stream of them in few blocks.
func (f *partition) linger(lagging bool, since time.Duration) time.Duration {
	if lagging {
		return max(laggingLinger, f.projector.cfg.Linger)
	}
	return max(shortLinger, f.projector.cfg.Linger-since)
}

func (f *partition) writeAll(ctx context.Context, full <-chan *pending, free chan<- *pending) error {
	for {
		select {
		case block, more := <-full:
			if !more {
				return ctx.Err()
			}
			err := f.write(ctx, block.folding)
			f.drop(block)
			if err != nil {
				return err
			}
			free <- block
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drop gives back the memory a block holds.
func (f *partition) drop(block *pending) {
	f.projector.memory.Release(block.held)
	block.held = 0
	block.begin(block.to)
}

// release gives back what was still between the stages when they stopped.
func (f *partition) release(fetched <-chan portion) {
	select {
	case p := <-fetched:
		f.projector.memory.Release(p.held)
	default:
	}
}
