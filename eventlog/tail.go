package eventlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	tailBytes = 1 << 20
	tailWait  = 2 * time.Second
)

// Tail follows every partition of a topic, from the first offset kept (First),
// from the end as it is now (End), or, for a topic of one partition, from an
// offset. It hands records to fn in log order per partition, never from two
// goroutines at once, and calls fn once with nil when it has handed out everything
// that was in the topic when it began. Records and their bytes are fn's to keep.
//
// It goes on through restarts of brokers, with pauses, without skipping or
// doubling a record, and takes up partitions the topic gains. It returns when ctx
// ends, with ctx's error; when fn fails, with fn's error; and when it can't go on
// without skipping: ErrBehindRetention, ErrPastEnd, ErrCorrupt, ErrClosed.
func (l *Log) Tail(ctx context.Context, topic string, from int64, fn func([]Record) error) error {
	if from >= 0 && l.Partitions(topic) > 1 {
		return fmt.Errorf("tail of %s from offset %d: it has %d partitions, so an offset means nothing", topic, from, l.Partitions(topic))
	}
	bounds, err := l.tailBounds(ctx, topic)
	if err != nil {
		return err
	}
	work, ctx := errgroup.WithContext(ctx)
	t := &tail{log: l, topic: topic, fn: fn, behind: len(bounds)}
	for _, b := range bounds {
		next := from
		switch from {
		case First:
			next = b.Start
		case End:
			next = b.End
		}
		p := &tailPartition{partition: b.Partition, next: next, goal: b.End, first: from == First}
		work.Go(func() error { return t.follow(ctx, p) })
	}
	work.Go(func() error { return t.grow(ctx, work, len(bounds)) })
	return work.Wait()
}

// tailBounds asks until all partitions have answered.
func (l *Log) tailBounds(ctx context.Context, topic string) ([]Bounds, error) {
	var pause backoff
	for {
		bounds, err := l.Bounds(ctx, topic)
		switch {
		case err == nil, errors.Is(err, ErrUnknownTopic):
			return bounds, err
		case l.ctx.Err() != nil:
			return nil, ErrClosed
		}
		if pause.wait(ctx) != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// tail is one running Tail.
type tail struct {
	log   *Log
	topic string

	mu     sync.Mutex // held while fn runs
	fn     func([]Record) error
	behind int // partitions that have not reached their goal
}

type tailPartition struct {
	partition  int
	next, goal int64
	first      bool // began at the first offset and has handed out nothing
	reached    bool
}

// follow reads one partition until ctx ends or reading on would skip something.
func (t *tail) follow(ctx context.Context, p *tailPartition) error {
	var pause backoff
	if err := t.hand(p, nil); err != nil {
		return err
	}
	for {
		chunk, err := t.log.Fetch(ctx, t.topic, p.partition, p.next, tailBytes, tailWait)
		switch {
		case err == nil:
			pause.reset()
			p.next = chunk.Next
			if err := t.hand(p, chunk.Records); err != nil {
				return err
			}
		case p.first && errors.Is(err, ErrBehindRetention):
			if err := t.restart(ctx, p); err != nil {
				return err
			}
		case t.log.ctx.Err() != nil:
			return ErrClosed
		case errors.Is(err, ErrUnavailable) && ctx.Err() == nil:
			if pause.wait(ctx) != nil {
				return context.Cause(ctx)
			}
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default:
			return err
		}
	}
}

// hand gives records to fn, and says so when they were the last that was missing.
func (t *tail) hand(p *tailPartition, records []Record) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(records) > 0 {
		p.first = false
		if err := t.fn(records); err != nil {
			return err
		}
	}
	if p.reached || p.next < p.goal {
		return nil
	}
	p.reached = true
	if t.behind--; t.behind == 0 {
		return t.fn(nil)
	}
	return nil
}

// restart begins again at the first offset: retention moved it before anything
// was read, so nothing that was handed out is followed by a gap.
func (t *tail) restart(ctx context.Context, p *tailPartition) error {
	bounds, err := t.log.tailBounds(ctx, t.topic)
	if err != nil {
		return err
	}
	p.next = bounds[p.partition].Start
	return t.hand(p, nil)
}

// grow follows partitions that the topic gains.
func (t *tail) grow(ctx context.Context, work *errgroup.Group, known int) error {
	ticker := time.NewTicker(watchPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		for n := t.log.Partitions(t.topic); known < n; known++ {
			p := &tailPartition{partition: known, reached: true}
			work.Go(func() error { return t.follow(ctx, p) })
		}
	}
}
