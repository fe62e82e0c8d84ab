package control

import (
	"context"
	"time"

	"weir/eventlog"
)

// Log is what this package needs of the log; *eventlog.Log is one.
type Log interface {
	// Append returns after the whole set is acknowledged. After
	// eventlog.ErrUnavailable it may or may not be in the log.
	Append(ctx context.Context, topic string, partition int, s eventlog.Set) (first int64, err error)

	// Fetch waits up to maxWait for records from offset on. It never skips:
	// an offset that is gone is an error.
	Fetch(ctx context.Context, topic string, partition int, offset int64, maxBytes int, maxWait time.Duration) (eventlog.Chunk, error)
}

const (
	controlPartition = 0
	fetchBytes       = 4 << 20

	// fetchWait is how long a fetch waits for something new. It does not delay
	// a change, which ends the wait; it is how often a quiet log is heard from.
	fetchWait = time.Second

	// catchUpWait is the same until the end was reached once: an empty log is
	// then known to be empty at once.
	catchUpWait = 10 * time.Millisecond
)
