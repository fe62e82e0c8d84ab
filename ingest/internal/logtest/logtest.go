// Package logtest is a log in memory for the tests of the gateway: many
// gateways can share one, each through a Client of its own that can be made to
// fail or to die at any step. It keeps the promises of eventlog and nothing else.
package logtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/eventlog"
)

// Log is what all clients share.
type Log struct {
	partitions int

	mu      sync.Mutex
	topics  map[string][][]eventlog.Record
	changed chan struct{} // closed and replaced by every append
}

// New makes an empty log whose topics have so many partitions.
func New(partitions int) *Log {
	return &Log{partitions: partitions, topics: map[string][][]eventlog.Record{}, changed: make(chan struct{})}
}

func (l *Log) topic(name string) [][]eventlog.Record {
	if l.topics[name] == nil {
		l.topics[name] = make([][]eventlog.Record, l.partitions)
	}
	return l.topics[name]
}

// Records returns a copy of all records of a topic, by partition.
func (l *Log) Records(topic string) (all []eventlog.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.topic(topic) {
		all = append(all, p...)
	}
	return all
}

// Put appends a set, as a producer does that nobody can stop.
func (l *Log) Put(topic string, partition int, s eventlog.Set) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	parts := l.topic(topic)
	first := int64(len(parts[partition]))
	for i, v := range s.Values {
		r := eventlog.Record{
			Topic: topic, Partition: partition, Offset: first + int64(i), Time: s.Time.Truncate(time.Millisecond),
			Key: append([]byte(nil), s.Key...), Value: append([]byte(nil), v...), Batch: s.Batch, Index: i,
		}
		if s.Indexes != nil {
			r.Index = s.Indexes[i]
		}
		parts[partition] = append(parts[partition], r)
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return first
}

// Client is one gateway's way to the log. Set the hooks before it is used.
type Client struct {
	*Log

	// Before runs before an append; an error fails it, not applied. After runs
	// when it is applied; an error makes it fail nevertheless.
	Before, After func(topic string) error

	// Late, when it gives more than zero, makes an append fail at once and be
	// applied that much later, unless the client is dead by then.
	Late func(topic string) time.Duration

	// Caught is closed when a tail has read what there was when it began.
	Caught chan struct{}

	dead chan struct{}
	died atomic.Bool
}

// Client makes another way to the log, for one tail at most.
func (l *Log) Client() *Client {
	return &Client{Log: l, Caught: make(chan struct{}), dead: make(chan struct{})}
}

// Kill makes everything fail from now on, as for a process that is no more.
func (c *Client) Kill() {
	if c.died.CompareAndSwap(false, true) {
		close(c.dead)
	}
}

func (c *Client) gone() error {
	if c.died.Load() {
		return fmt.Errorf("killed: %w", eventlog.ErrUnavailable)
	}
	return nil
}

// Append is as of eventlog.
func (c *Client) Append(ctx context.Context, topic string, partition int, s eventlog.Set) (int64, error) {
	if err := c.hook(c.Before, topic); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("%w: %w", eventlog.ErrUnavailable, err)
	}
	if c.Late != nil {
		if delay := c.Late(topic); delay > 0 {
			c.putLate(delay, topic, partition, s)
			return 0, fmt.Errorf("gave up: %w", eventlog.ErrUnavailable)
		}
	}
	first := c.Put(topic, partition, s)
	return first, c.hook(c.After, topic)
}

func (c *Client) putLate(delay time.Duration, topic string, partition int, s eventlog.Set) {
	s.Indexes = slices.Clone(s.Indexes)
	s.Values = slices.Clone(s.Values)
	for i, v := range s.Values {
		s.Values[i] = bytes.Clone(v)
	}
	time.AfterFunc(delay, func() {
		if !c.died.Load() {
			c.Put(topic, partition, s)
		}
	})
}

func (c *Client) hook(fn func(string) error, topic string) error {
	if err := c.gone(); err != nil || fn == nil {
		return err
	}
	return fn(topic)
}

// Fits is as of eventlog, without a limit.
func (c *Client) Fits(string, eventlog.Set) error { return nil }

// PartitionFor is as of eventlog.
func (c *Client) PartitionFor(_ string, batch [16]byte) int {
	return int(binary.BigEndian.Uint32(batch[4:]) % uint32(c.partitions))
}

// Bounds is as of eventlog.
func (c *Client) Bounds(_ context.Context, topic string) ([]eventlog.Bounds, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]eventlog.Bounds, c.partitions)
	for i, p := range c.topic(topic) {
		all[i] = eventlog.Bounds{Partition: i, End: int64(len(p))}
	}
	return all, c.gone()
}

// Fetch is as of eventlog, but never waits.
func (c *Client) Fetch(_ context.Context, topic string, partition int, offset int64, maxBytes int, _ time.Duration) (eventlog.Chunk, error) {
	if err := c.gone(); err != nil {
		return eventlog.Chunk{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	records := c.topic(topic)[partition]
	end := int64(len(records))
	if offset > end {
		return eventlog.Chunk{}, eventlog.ErrPastEnd
	}
	records = records[offset:]
	size := 0
	for i := range records {
		if size += len(records[i].Value); size > maxBytes {
			records = records[:i+1]
			break
		}
	}
	chunk := append([]eventlog.Record(nil), records...)
	return eventlog.Chunk{Records: chunk, Next: offset + int64(len(chunk)), HighWatermark: end}, nil
}

// Tail is as of eventlog.
func (c *Client) Tail(ctx context.Context, topic string, _ int64, fn func([]eventlog.Record) error) error {
	next := make([]int, c.partitions)
	for first := true; ; first = false {
		chunk, changed := c.since(topic, next)
		if len(chunk) > 0 {
			if err := fn(chunk); err != nil {
				return err
			}
		}
		if first {
			if err := fn(nil); err != nil {
				return err
			}
			close(c.Caught)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.dead:
			return c.gone()
		}
	}
}

func (c *Client) since(topic string, next []int) (chunk []eventlog.Record, changed chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, p := range c.topic(topic) {
		chunk = append(chunk, p[next[i]:]...)
		next[i] = len(p)
	}
	return chunk, c.changed
}
