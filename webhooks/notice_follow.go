package webhooks

import (
	"context"
	"errors"
	"time"

	"weir/eventlog"
)

// follower notices what one partition brings, in order.
type follower struct {
	*Noticer
	assignment *eventlog.Assignment
	tp         eventlog.TopicPartition
	begun      bool // there is a checkpoint
	next       int64

	// decided are occasions that may be met again: of chunks whose checkpoint is not
	// written, by whoever had the partition before (until recalled) or by this process.
	decided  map[[16]byte]bool
	recalled time.Time
}

// errCheck is that a Check or Ready could not answer yet.
var errCheck = errors.New("cannot be checked yet")

func (f *follower) follow(ctx context.Context) {
	for pause := firstPause; ctx.Err() == nil; {
		err := f.chunk(ctx)
		switch {
		case err == nil:
			pause = firstPause
		case ctx.Err() != nil:
			return
		case isUnavailable(err) || errors.Is(err, eventlog.ErrOverloaded) || errors.Is(err, errCheck):
			if pause == longestPause {
				f.cfg.Logger.Warn("notices wait", "topic", f.tp.Topic, "partition", f.tp.Partition, "offset", f.next, "error", err)
			}
			sleep(ctx, pause)
			pause = min(2*pause, longestPause)
		default:
			f.cfg.Logger.Error("notices of this partition have stopped", "topic", f.tp.Topic, "partition", f.tp.Partition, "offset", f.next, "error", err)
			<-ctx.Done()
			return
		}
	}
}

// chunk notices what one fetch brings, then moves the checkpoint past it. A failure
// in between repeats the chunk; what was decided already is not decided again.
func (f *follower) chunk(ctx context.Context) error {
	chunk, err := f.cfg.Log.Fetch(ctx, f.tp.Topic, f.tp.Partition, f.next, readBytes, readWait)
	if err != nil && !f.begun && errors.Is(err, eventlog.ErrBehindRetention) && f.next == 0 {
		bounds, errBounds := f.cfg.Log.Bounds(ctx, f.tp.Topic)
		if errBounds == nil {
			f.next = bounds[f.tp.Partition].Start // never begun: what retention took nobody waited for
		}
		return errBounds
	}
	if err != nil || len(chunk.Records) == 0 && chunk.Next == f.next {
		return err
	}
	if f.decided == nil && len(chunk.Records) > 0 {
		if err = f.recall(ctx, chunk.Records[0].Time.Add(-f.cfg.ClockSlack)); err != nil {
			return err
		}
	}
	if err := f.notice(ctx, chunk.Records, f.decided); err != nil {
		return err
	}
	f.cfg.step("decided")
	if err := f.assignment.Advance(ctx, f.tp, chunk.Next, eventlog.Witness{}); err != nil {
		return err
	}
	f.next, f.begun = chunk.Next, true
	if n := len(chunk.Records); n > 0 && chunk.Records[n-1].Time.Add(-f.cfg.ClockSlack).After(f.recalled) {
		clear(f.decided) // nobody else had these: the partition was this process's when they came
	}
	return nil
}

// recall reads which occasions were decided since a time, by the batch ids of their records.
func (f *follower) recall(ctx context.Context, since time.Time) error {
	decided, now := map[[16]byte]bool{}, time.Now()
	for p := range f.cfg.Log.Partitions(OwedTopic) {
		from, err := f.cfg.Log.OffsetAt(ctx, OwedTopic, p, since)
		if err != nil {
			return err
		}
		err = scan(ctx, f.cfg.Log, eventlog.TopicPartition{Topic: OwedTopic, Partition: p}, from, func(r *eventlog.Record) bool {
			decided[r.Batch] = true
			return true
		})
		if err != nil {
			return err
		}
	}
	f.decided, f.recalled = decided, now
	return nil
}
