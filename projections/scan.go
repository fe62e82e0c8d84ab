package projections

import (
	"context"
	"errors"
	"fmt"

	"weir/eventlog"
)

// scan reads the records of one partition in a span, straight from the log, and
// hands them out a chunk at a time.
func scan(ctx context.Context, log *eventlog.Log, tp eventlog.TopicPartition, s span, each func([]eventlog.Record)) error {
	wait := backoff{}
	for next := s.from; next < s.to; {
		chunk, err := log.Fetch(ctx, tp.Topic, tp.Partition, next, laggingFetch, fetchWait)
		if errors.Is(err, eventlog.ErrUnavailable) && wait.tries < 8 {
			pause(ctx, wait.next(err))
			continue
		}
		if err != nil {
			return fmt.Errorf("reading %s partition %d at offset %d: %w", tp.Topic, tp.Partition, next, err)
		}
		if chunk.Next <= next && chunk.HighWatermark < s.to {
			return fmt.Errorf("%w: %s partition %d ends at offset %d, and was to be read up to %d", eventlog.ErrPastEnd, tp.Topic, tp.Partition, chunk.HighWatermark, s.to)
		}
		wait = backoff{}
		next = chunk.Next
		each(before(chunk.Records, s.to))
	}
	return nil
}
