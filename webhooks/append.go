package webhooks

import (
	"context"
	"errors"
	"sync"
	"time"

	"weir/eventlog"
)

// writer appends sets so that each is in the log once, as far as that can be seen:
// after a failure whose outcome is unknown it looks for the set before it appends
// again.
type writer struct {
	log   Log
	ask   sync.Mutex // one question at a time: thousands of deliveries may begin at once
	mu    sync.Mutex
	known map[eventlog.TopicPartition]int64 // everything appended from now on lies at or after this offset
}

func newWriter(log Log) *writer {
	return &writer{log: log, known: map[eventlog.TopicPartition]int64{}}
}

const firstPause, longestPause = 100 * time.Millisecond, 5 * time.Second

// once appends until the set is acknowledged, or ctx ends.
func (w *writer) once(ctx context.Context, topic string, s eventlog.Set) error {
	tp := eventlog.TopicPartition{Topic: topic, Partition: w.log.PartitionFor(topic, s.Batch)}
	from, err := w.from(ctx, tp)
	if err != nil {
		return err
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		first, err := w.log.Append(ctx, topic, tp.Partition, s)
		if err == nil {
			w.learn(tp, first+int64(len(s.Values)))
			return nil
		}
		if final(err) || ctx.Err() != nil {
			return err
		}
		if !sleep(ctx, pause) {
			return err
		}
		if errors.Is(err, eventlog.ErrUnavailable) {
			if found, err := w.find(ctx, tp, from, s.Batch); err != nil || found {
				return err
			}
		}
	}
}

func final(err error) bool {
	for _, f := range []error{eventlog.ErrTooLarge, eventlog.ErrRefused, eventlog.ErrUnknownTopic, eventlog.ErrClosed} {
		if errors.Is(err, f) {
			return true
		}
	}
	return false
}

// from is an offset that lies before whatever is appended after the call.
func (w *writer) from(ctx context.Context, tp eventlog.TopicPartition) (int64, error) {
	if at, ok := w.learned(tp); ok {
		return at, nil
	}
	w.ask.Lock()
	defer w.ask.Unlock()
	if at, ok := w.learned(tp); ok {
		return at, nil
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		bounds, err := w.log.Bounds(ctx, tp.Topic)
		if err == nil {
			w.learn(tp, bounds[tp.Partition].End)
			return bounds[tp.Partition].End, nil
		}
		if final(err) || !sleep(ctx, pause) {
			return 0, err
		}
	}
}

func (w *writer) learned(tp eventlog.TopicPartition) (int64, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.known[tp]
	return at, ok
}

func (w *writer) learn(tp eventlog.TopicPartition, next int64) {
	w.mu.Lock()
	w.known[tp] = max(w.known[tp], next)
	w.mu.Unlock()
}

// find looks for a batch between an offset and the end.
func (w *writer) find(ctx context.Context, tp eventlog.TopicPartition, from int64, batch [16]byte) (bool, error) {
	found := false
	err := scan(ctx, w.log, tp, from, func(r *eventlog.Record) bool {
		found = r.Batch == batch
		return !found
	})
	return found, err
}

const (
	scanBytes = 4 << 20
	scanWait  = 10 * time.Millisecond
)

// scan reads a partition from an offset to its end as it was at the first answer,
// until fn returns false. An unreachable log is tried until ctx ends.
func scan(ctx context.Context, log Log, tp eventlog.TopicPartition, from int64, fn func(*eventlog.Record) bool) error {
	end := int64(-1)
	for pause := firstPause; ; {
		chunk, err := log.Fetch(ctx, tp.Topic, tp.Partition, from, scanBytes, scanWait)
		if err != nil {
			if !errors.Is(err, eventlog.ErrUnavailable) || !sleep(ctx, pause) {
				return err
			}
			pause = min(2*pause, longestPause)
			continue
		}
		if end < 0 {
			end = chunk.HighWatermark
		}
		for i := range chunk.Records {
			if !fn(&chunk.Records[i]) {
				return nil
			}
		}
		if from = chunk.Next; from >= end {
			return nil
		}
	}
}

// sleep waits; false when ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
