package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// OffsetAt finds where to begin reading for everything from a time on: the offset
// of the first record in a partition whose time is t or later, the partition's end
// when there is none. Record times are their writers' clocks, so a record of an
// earlier time can follow. The error is ErrUnavailable or ErrUnknownTopic.
func (l *Log) OffsetAt(ctx context.Context, topic string, partition int, t time.Time) (int64, error) {
	if n := l.Partitions(topic); partition < 0 || partition >= n {
		return 0, fmt.Errorf("%w: %s partition %d, the topic has %d", ErrUnknownTopic, topic, partition, n)
	}
	ends, err := l.offsets(ctx, topic, []int{partition}, End) // asked first: what is appended meanwhile lies after it
	found, errAt := l.offsets(ctx, topic, []int{partition}, max(t.UnixMilli(), 0))
	if err := errors.Join(err, errAt); err != nil {
		return 0, err
	}
	if at := found[partition]; at >= 0 {
		return at, nil
	}
	return ends[partition], nil
}
