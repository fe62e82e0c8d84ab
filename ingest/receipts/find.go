package receipts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"weir/eventlog"
)

const (
	// findSlack is how much older a record's time may be than its append: the
	// waits of a gateway, and how far clocks are apart.
	findSlack = 2 * time.Minute

	findStep  = 1024
	findBytes = 1 << 20
)

// Find looks for a batch's events in the topic, among the records since that
// time. A set is whole or absent, so its last record says everything. It looks
// first where they should be, then in the other partitions, for the topic may
// have got more of them meanwhile. Only a take-over needs it.
func (b *Book) Find(ctx context.Context, topic string, batch [16]byte, since time.Time) (p eventlog.Position, found bool, err error) {
	all, err := b.cfg.Log.Bounds(ctx, topic)
	if err != nil {
		return p, false, err
	}
	likely := b.cfg.Log.PartitionFor(topic, batch)
	slices.SortFunc(all, func(x, y eventlog.Bounds) int {
		return cmp.Compare(distance(x.Partition, likely), distance(y.Partition, likely))
	})
	for _, bounds := range all {
		if p, found, err = b.findIn(ctx, topic, bounds, batch, since); found || err != nil {
			return p, found, err
		}
	}
	return p, false, nil
}

func distance(x, y int) int { return max(x-y, y-x) }

func (b *Book) findIn(ctx context.Context, topic string, bounds eventlog.Bounds, batch [16]byte, since time.Time) (p eventlog.Position, found bool, err error) {
	partition := bounds.Partition
	offset, err := b.offsetBefore(ctx, topic, bounds, since.Add(-findSlack))
	for err == nil && offset < bounds.End {
		var c eventlog.Chunk
		c, err = b.cfg.Log.Fetch(ctx, topic, partition, offset, findBytes, time.Second)
		for i := range c.Records {
			if c.Records[i].Batch == batch {
				p, found = eventlog.Position{Topic: topic, Partition: partition, Next: c.Records[i].Offset + 1}, true
			} else if found {
				return p, true, nil
			}
		}
		if c.Next <= offset && err == nil {
			err = fmt.Errorf("receipts: %s partition %d gives nothing at offset %d: %w", topic, partition, offset, eventlog.ErrUnavailable)
		}
		offset = c.Next
	}
	return p, found, err
}

// offsetBefore steps back from the end, further each time, to a record older
// than since or to the start. The log need not offer a search by time for it.
func (b *Book) offsetBefore(ctx context.Context, topic string, bounds eventlog.Bounds, since time.Time) (int64, error) {
	offset := bounds.End
	for step := int64(findStep); offset > bounds.Start; step *= 4 {
		offset = max(bounds.Start, offset-step)
		r, err := b.recordAt(ctx, topic, bounds.Partition, offset)
		if err != nil || r.Time.Before(since) {
			return offset, err
		}
	}
	return offset, nil
}
