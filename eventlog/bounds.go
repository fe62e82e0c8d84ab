package eventlog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

const listOffsetsVersion = 3

// First and End stand for offsets in Tail: the first one kept, and the end of the
// log as it is now.
const (
	First int64 = -2
	End   int64 = -1
)

// Bounds are the first offset kept in a partition and the one after its last.
type Bounds struct {
	Partition  int
	Start, End int64
}

// Bounds asks for the bounds of every partition of a topic, by partition. When
// some partitions can't be asked, the others are still returned beside the error,
// ErrUnavailable.
func (l *Log) Bounds(ctx context.Context, topic string) ([]Bounds, error) {
	n := l.Partitions(topic)
	if n == 0 {
		return nil, fmt.Errorf("%w: %s", ErrUnknownTopic, topic)
	}
	partitions := make([]int, n)
	for i := range partitions {
		partitions[i] = i
	}
	return l.partitionBounds(ctx, topic, partitions)
}

func (l *Log) partitionBounds(ctx context.Context, topic string, partitions []int) ([]Bounds, error) {
	starts, errStart := l.offsets(ctx, topic, partitions, First)
	ends, errEnd := l.offsets(ctx, topic, partitions, End)
	bounds := make([]Bounds, 0, len(partitions))
	for _, p := range partitions {
		start, ok1 := starts[p]
		end, ok2 := ends[p]
		if ok1 && ok2 {
			bounds = append(bounds, Bounds{Partition: p, Start: start, End: max(start, end)})
		}
	}
	return bounds, errors.Join(errStart, errEnd)
}

// offsetAttempts is how often a partition without a leader is asked for again.
const offsetAttempts = 3

// offsets asks for one kind of offset. A leader is asked for all partitions that
// are still open, and answers for those it leads.
func (l *Log) offsets(ctx context.Context, topic string, partitions []int, at int64) (map[int]int64, error) {
	found := make(map[int]int64, len(partitions))
	open := slices.Clone(partitions)
	attempts := 0
	var pause backoff
	var failed error
	for len(open) > 0 {
		err := l.askOffsets(ctx, topic, open, at, found)
		if _, ok := found[open[0]]; !ok {
			if attempts++; attempts < offsetAttempts && pause.wait(ctx) == nil {
				continue
			}
			failed = errors.Join(failed, fmt.Errorf("%w: bounds of %s partition %d: %w", ErrUnavailable, topic, open[0], err))
			open = open[1:]
			attempts = 0
		}
		open = slices.DeleteFunc(open, func(p int) bool { _, ok := found[p]; return ok })
	}
	return found, failed
}

// askOffsets asks the leader of the first partition.
func (l *Log) askOffsets(ctx context.Context, topic string, partitions []int, at int64, found map[int]int64) error {
	b := newFrame(nil, protocol.ListOffsets, listOffsetsVersion, l.cfg.ClientID)
	b = appendInt32(b, -1)
	b = append(b, readCommitted)
	b = appendInt32(b, 1)
	b = appendString(b, topic)
	b = appendInt32(b, int32(len(partitions)))
	for _, p := range partitions {
		b = appendInt64(appendInt32(b, int32(p)), at)
	}
	c := &partitionCall{call: &call{key: protocol.ListOffsets, frame: finishFrame(b)}, topic: topic, partition: partitions[0]}
	body, err := l.exchange(ctx, c, l.cfg.RequestTimeout)
	if err != nil {
		return err
	}
	r := reader{rest: body}
	r.int32() // throttle
	err = kafka.UnknownTopicOrPartition
	for range r.count(6) {
		r.string()
		for range r.count(22) {
			p, code := int(r.int32()), r.int16()
			r.int64() // timestamp
			offset := r.int64()
			if code == 0 && !r.bad {
				found[p] = offset
			}
			if p == partitions[0] {
				err = codeError(code)
			}
		}
	}
	return errors.Join(err, r.err())
}
