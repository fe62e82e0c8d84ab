package projections

import (
	"context"
	"fmt"
	"sort"
	"time"

	"weir/eventlog"
)

// mostGrowth bounds what is remembered of how an end grew: ten minutes at a
// poll a second. A lag older than that is told as ten minutes or more.
const mostGrowth = 600

// end is the end of one partition and how it grew: enough to tell the age of the
// oldest record that is not folded without reading it.
type end struct {
	tp     eventlog.TopicPartition
	start  int64
	offset int64
	last   time.Time // received time of the last record, zero when unknown or none
	growth []growth  // oldest first
}

// growth says that the end was found at offset at a time: the records before it,
// and after the growth before, were appended up to then.
type growth struct {
	offset int64
	at     time.Time
}

// ends reads and keeps the ends of partitions.
type ends struct {
	log   *eventlog.Log
	known map[eventlog.TopicPartition]*end
}

func newEnds(log *eventlog.Log) *ends {
	return &ends{log: log, known: map[eventlog.TopicPartition]*end{}}
}

// read asks for the ends of all partitions of topics.
func (e *ends) read(ctx context.Context, topics []string, now time.Time) (map[eventlog.TopicPartition]*end, error) {
	seen := map[eventlog.TopicPartition]*end{}
	for _, topic := range topics {
		bounds, err := e.log.Bounds(ctx, topic)
		if err != nil {
			return nil, fmt.Errorf("reading the ends of %s: %w", topic, err)
		}
		for _, b := range bounds {
			tp := eventlog.TopicPartition{Topic: topic, Partition: b.Partition}
			seen[tp] = e.grown(ctx, tp, b, now)
		}
	}
	return seen, nil
}

// grown is the partition's end as it is now; the one known before is not changed.
func (e *ends) grown(ctx context.Context, tp eventlog.TopicPartition, b eventlog.Bounds, now time.Time) *end {
	next := &end{tp: tp, start: b.Start, offset: b.End}
	before := e.known[tp]
	switch {
	case before == nil || before.offset > b.End:
		next.last = e.lastTime(ctx, tp, b)
		next.growth = []growth{{b.End, orNow(next.last, now)}}
		return next
	case before.offset == b.End:
		next.last, next.growth = before.last, before.growth
		return next
	}
	next.last = now
	next.growth = append(before.growth[max(0, len(before.growth)-mostGrowth):len(before.growth):len(before.growth)], growth{b.End, now})
	return next
}

func orNow(t, now time.Time) time.Time {
	if t.IsZero() {
		return now
	}
	return t
}

// lastTime is the received time of a partition's last record, or zero when that
// cannot be had cheaply.
func (e *ends) lastTime(ctx context.Context, tp eventlog.TopicPartition, b eventlog.Bounds) time.Time {
	if b.End <= b.Start {
		return time.Time{}
	}
	chunk, err := e.log.Fetch(ctx, tp.Topic, tp.Partition, b.End-1, liveFetch, time.Millisecond)
	if err != nil || len(chunk.Records) == 0 {
		return time.Time{}
	}
	return chunk.Records[len(chunk.Records)-1].Time
}

func (e *ends) keep(seen map[eventlog.TopicPartition]*end) { e.known = seen }

func (e *ends) lastEvent(topic string) time.Time {
	var last time.Time
	for tp, end := range e.known {
		if tp.Topic == topic && end.last.After(last) {
			last = end.last
		}
	}
	return last
}

// of lists a topic's partitions in order.
func (e *ends) of(seen map[eventlog.TopicPartition]*end, topic string) []*end {
	var list []*end
	for tp, end := range seen {
		if tp.Topic == topic {
			list = append(list, end)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].tp.Partition < list[j].tp.Partition })
	return list
}

// lag compares an end with a checkpoint.
func (e *end) lag(c eventlog.Checkpoint, now time.Time) PartitionProgress {
	folded := e.start
	if c.Exists {
		folded = c.Offset
	}
	p := PartitionProgress{Topic: e.tp.Topic, Partition: e.tp.Partition, Folded: folded, End: max(e.offset, folded)}
	p.LagRecords = p.End - folded
	if p.LagRecords == 0 {
		return p
	}
	for _, g := range e.growth {
		if g.offset > folded {
			p.LagSeconds = max(0, now.Sub(g.at).Seconds())
			break
		}
	}
	return p
}
