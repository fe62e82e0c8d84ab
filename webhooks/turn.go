package webhooks

import (
	"context"
	"sync"
	"time"

	"weir/eventlog"
)

// turn is the work of one assignment. reading ends first, when the assignment or
// the lane does: nothing new begins. finishing ends a grace later: until then
// attempts under way may end and be written down.
type turn struct {
	lane       *Lane
	assignment *eventlog.Assignment
	reading    context.Context
	finishing  context.Context
	past       *past

	gate   sync.RWMutex // held to write while closed is set: then nothing is added to busy from outside
	closed bool
	busy   sync.WaitGroup // what must end before the partitions are given up
}

// serve works until the assignment or ctx ends, and everything it began with it.
func (l *Lane) serve(ctx context.Context, a *eventlog.Assignment) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(a.Context(), stop)()
	finishing, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	t := &turn{lane: l, assignment: a, reading: reading, finishing: finishing}
	readers, err := t.prepare()
	if err != nil {
		l.cfg.Logger.Warn("webhook deliveries wait: where they stand cannot be read", "error", err)
		<-reading.Done()
		return
	}
	var reads sync.WaitGroup
	for _, r := range readers {
		reads.Go(func() { r.run(reading) })
	}
	l.cfg.Logger.Debug("delivering webhooks", "partitions", len(readers), "generation", a.Generation)
	reads.Wait()
	t.finish(ctx, abort)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	for _, r := range readers {
		r.commit(last)
	}
}

// handOver is how long a rebalance waits for attempts under way; brokers wait 30 s.
const handOver = 5 * time.Second

// finish waits for what is under way, but not for receivers that hang: those would
// hold up every partition. An attempt that is broken off is made again by whoever
// has the partition next, as after a kill.
func (t *turn) finish(ctx context.Context, abort context.CancelFunc) {
	t.gate.Lock()
	t.closed = true
	t.gate.Unlock()
	ended := make(chan struct{})
	go func() {
		t.busy.Wait()
		close(ended)
	}()
	grace := handOver
	if ctx.Err() != nil {
		grace = t.lane.cfg.Grace
	}
	limit := time.NewTimer(grace)
	defer limit.Stop()
	select {
	case <-ended:
	case <-limit.C:
		abort()
		<-ended
	}
}

// prepare reads the checkpoints and what was done beyond them.
func (t *turn) prepare() ([]*reader, error) {
	var err error
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		var readers []*reader
		if readers, err = t.readers(); err == nil {
			return readers, nil
		}
		if !sleep(t.reading, pause) {
			return nil, err
		}
	}
}

func (t *turn) readers() ([]*reader, error) {
	checkpoints, err := t.assignment.Checkpoints(t.reading)
	if err != nil {
		return nil, err
	}
	readers := make([]*reader, 0, len(t.assignment.Partitions))
	for _, tp := range t.assignment.Partitions {
		c := checkpoints[tp]
		if !c.Exists { // begun at the first record that is kept
			bounds, err := t.lane.cfg.Log.Bounds(t.reading, tp.Topic)
			if err != nil {
				return nil, err
			}
			c.Offset = bounds[tp.Partition].Start
		}
		readers = append(readers, newReader(t, tp, c.Offset))
	}
	t.past, err = t.recall(readers)
	return readers, err
}
