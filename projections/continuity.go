package projections

import (
	"context"
	"time"

	"weir/eventlog"
)

// longestGap is how long the log may go unread before it is asked whether it is still
// the same: a topic that is deleted ends a fetch under way, and cannot be deleted, made
// again and filled in less.
const longestGap = 250 * time.Millisecond

// continuity sees to it that each chunk of a partition continues the one before. When
// another leader wrote it, or nobody looked for a while, the log is asked for the last
// record that was fetched.
type continuity struct {
	last  eventlog.Witness
	epoch int32
	until time.Time // when the last fetch had ended
	doubt bool      // nobody looked for a while, and the log was not asked since
}

func continuing(last eventlog.Witness) continuity { return continuity{last: last, doubt: true} }

// check returns eventlog.ErrRewritten or ErrPastEnd when a chunk, for which a fetch was
// begun at a time, is not the continuation.
func (c *continuity) check(ctx context.Context, log *eventlog.Log, tp eventlog.TopicPartition, began time.Time, chunk eventlog.Chunk) error {
	c.doubt = c.doubt || began.Sub(c.until) > longestGap
	if chunk.FirstEpoch >= 0 && (c.doubt || chunk.FirstEpoch != c.epoch) {
		if err := log.Confirm(ctx, tp, c.last); err != nil {
			return err
		}
		c.doubt = false
	}
	if n := len(chunk.Records); n > 0 {
		c.last = chunk.Records[n-1].Witness()
	}
	if chunk.LastEpoch >= 0 {
		c.epoch = chunk.LastEpoch
	}
	c.until = time.Now()
	return nil
}
