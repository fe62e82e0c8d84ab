package projections

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"weir/eventlog"
)

// portion is what one fetch brought.
type portion struct {
	records []eventlog.Record
	from    int64 // offset of what is not folded yet
	next    int64 // offset after the portion
	lagging bool  // there is more in the log
}

// pending is a block on its way to the tables.
type pending struct {
	*folding
	turned bool // the partition's turn goes with it until it is written
}

// turn is a partition's share of the memory that lagging partitions may use: that
// of one block. Few partitions at a time have one, so that each fills its block,
// instead of all of them waiting for each other with blocks half full.
type turn struct {
	all  *semaphore.Weighted
	mu   sync.Mutex
	held bool
}

// take waits for a turn unless the partition has one.
func (t *turn) take(ctx context.Context) error {
	t.mu.Lock()
	held := t.held
	t.mu.Unlock()
	if held {
		return nil
	}
	if err := t.all.Acquire(ctx, 1); err != nil {
		return err
	}
	t.mu.Lock()
	t.held = true
	t.mu.Unlock()
	return nil
}

// handOver gives the turn to a block; false when there is none.
func (t *turn) handOver() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := t.held
	t.held = false
	return held
}

// end gives back a turn that no block took over.
func (t *turn) end() {
	if t.handOver() {
		t.all.Release(1)
	}
}

// laggingFetch is how much a lagging partition asks for.
func (p *Projector) laggingFetch() int {
	return max(liveFetch, min(laggingFetch, fetchedAhead/int(max(1, p.streams.Load()))))
}

// fetch reads ahead, with small requests at the end of the log and large ones,
// for which it takes turns with others, behind it.
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
		size := liveFetch
		if lagging {
			size = f.projector.laggingFetch()
			if err := f.turn.take(ctx); err != nil {
				return err
			}
		}
		began := time.Now()
		chunk, err := f.projector.cfg.Log.Fetch(ctx, f.tp.Topic, f.tp.Partition, from, size, fetchWait)
		if err == nil {
			err = following.check(ctx, f.projector.cfg.Log, f.tp, began, chunk)
		}
		if err != nil {
			return err
		}
		if !reached {
			reached = true
			f.projector.problems.solve(f.label, &f.tp)
		}
		lagging = chunk.Next < chunk.HighWatermark
		if chunk.Next == from {
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
		case to <- portion{records: chunk.Records, next: chunk.Next, lagging: lagging}:
		case <-ctx.Done():
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
			block.turned = block.turned || f.turn.handOver()
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

// take folds as much of a portion as the block has room for.
func (f *partition) take(block *pending, rest *portion) {
	room := f.projector.cfg.BlockRecords - block.records
	if len(rest.records) > room {
		rest.from = rest.records[room].Offset
		block.add(rest.records[:room], rest.from)
		rest.records = rest.records[room:]
		return
	}
	block.add(rest.records, rest.next)
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

// drop empties a block and ends its turn.
func (f *partition) drop(block *pending) {
	block.begin(block.to)
	if block.turned {
		block.turned = false
		f.turn.all.Release(1)
	}
}
