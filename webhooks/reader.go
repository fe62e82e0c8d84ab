package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/eventlog"
)

const (
	readBytes    = 1 << 20
	readWait     = time.Second
	commitPeriod = 100 * time.Millisecond
)

// reader takes the records of one partition in order. In a delay topic each waits
// until it has been there for the topic's time.
type reader struct {
	turn   *turn
	tp     eventlog.TopicPartition
	delay  time.Duration
	from   int64
	window window

	committed int64
	seen      recent
}

func newReader(t *turn, tp eventlog.TopicPartition, from int64) *reader {
	r := &reader{turn: t, tp: tp, from: from, committed: -1}
	r.window.pass(from)
	for _, d := range t.lane.cfg.Delays {
		if retryTopic(d) == tp.Topic {
			r.delay = d
		}
	}
	return r
}

func (r *reader) name() string { return fmt.Sprintf("%s partition %d", r.tp.Topic, r.tp.Partition) }

// run reads until ctx ends, or stops where going on would be to skip something.
func (r *reader) run(ctx context.Context) {
	l := r.turn.lane
	l.problem(r.name(), nil)
	committing := make(chan struct{})
	go func() {
		defer close(committing)
		for sleep(ctx, commitPeriod) {
			r.commit(ctx)
		}
	}()
	defer func() { <-committing }()
	next := r.from
	for pause := firstPause; ctx.Err() == nil; {
		chunk, err := l.cfg.Log.Fetch(ctx, r.tp.Topic, r.tp.Partition, next, readBytes, readWait)
		switch {
		case err == nil:
			pause = firstPause
			if !r.take(ctx, chunk.Records) {
				return
			}
			next = chunk.Next
			r.window.pass(next)
		case ctx.Err() != nil:
			return
		case errors.Is(err, eventlog.ErrUnavailable):
			sleep(ctx, pause)
			pause = min(2*pause, longestPause)
		default: // records are gone, or unreadable: a human must look
			l.problem(r.name(), err)
			l.cfg.Logger.Error("webhook deliveries of this partition have stopped", "topic", r.tp.Topic, "partition", r.tp.Partition, "offset", next, "error", err)
			<-ctx.Done()
			return
		}
	}
}

// commit moves the checkpoint to where everything is done. A failure is made up for
// by the next one.
func (r *reader) commit(ctx context.Context) {
	at := r.window.checkpoint()
	if at == r.committed || at == r.from && r.committed < 0 {
		return
	}
	if crashed := r.turn.lane.cfg.crashed; crashed != nil && crashed() {
		return
	}
	if err := r.turn.assignment.Advance(ctx, r.tp, at, eventlog.Witness{}); err == nil {
		r.committed = at
	}
}

// take hands records on in order; false when ctx ended first.
func (r *reader) take(ctx context.Context, records []eventlog.Record) bool {
	for i := range records {
		rec := &records[i]
		if r.delay > 0 {
			if wait := rec.Time.Add(r.delay).Sub(r.turn.lane.cfg.Now()); wait > 0 && !sleep(ctx, wait) {
				return false
			}
		}
		if !r.dispatch(ctx, rec) {
			return false
		}
	}
	return ctx.Err() == nil
}

// dispatch gives every delivery of a record to its endpoint's lane.
func (r *reader) dispatch(ctx context.Context, raw *eventlog.Record) bool {
	l := r.turn.lane
	if r.seen.again(raw.Batch) { // appended twice, because an acknowledgement was lost
		return true
	}
	rec, err := decodeRecord(raw.Value)
	if err != nil {
		l.metrics.unreadable.Inc()
		l.cfg.Logger.Error("a record of the webhook lane was left out: it cannot be read", "topic", r.tp.Topic, "partition", r.tp.Partition, "offset", raw.Offset, "error", err)
		return true
	}
	if len(rec.Owed) == 0 {
		return true
	}
	if rec.Control > l.cfg.Directory.Next() && l.cfg.Directory.Wait(ctx, rec.Control) != nil {
		return false
	}
	place := r.window.begin(raw.Offset, len(rec.Owed))
	size := taskSize + int64(len(raw.Value)/len(rec.Owed))
	for _, o := range rec.Owed {
		if l.room.Acquire(ctx, min(size, l.cfg.RoomBytes)) != nil {
			return false
		}
		t := &task{turn: r.turn, reader: r, place: place, size: min(size, l.cfg.RoomBytes), rec: rec, owed: o}
		l.handle(t)
	}
	return true
}

// recent remembers the last batch ids of a partition.
type recent struct {
	known map[[16]byte]struct{}
	order [recentIDs][16]byte
	at    int
}

const recentIDs = 4096

// again says whether an id was among the last, and remembers it.
func (r *recent) again(id [16]byte) bool {
	if id == ([16]byte{}) { // of another producer
		return false
	}
	if _, ok := r.known[id]; ok {
		return true
	}
	if r.known == nil {
		r.known = make(map[[16]byte]struct{}, recentIDs)
	}
	delete(r.known, r.order[r.at])
	r.order[r.at], r.known[id] = id, struct{}{}
	r.at = (r.at + 1) % recentIDs
	return false
}

// taskSize is about what a delivery in memory costs beside its payload.
const taskSize = 512

// task is one delivery in memory, from its record to done.
type task struct {
	turn   *turn
	reader *reader
	place  int
	size   int64
	rec    *record
	owed   owed
}

// done says that the delivery's outcome and what follows are in the log.
func (t *task) done() {
	t.reader.window.done(t.place)
	t.drop()
}

// drop lets go of a delivery that is not done: it will be read again.
func (t *task) drop() { t.turn.lane.room.Release(t.size) }

// later runs a step that appends, beside the reader.
func (t *task) later(step func(ctx context.Context) error) {
	t.turn.busy.Add(1)
	go func() {
		defer t.turn.busy.Done()
		if !t.turn.assignment.Held() { // whoever has the partition now does it
			t.drop()
			return
		}
		t.end(step(t.turn.finishing))
	}()
}

// end is done when every step of the task succeeded.
func (t *task) end(err error) {
	if err != nil {
		if t.turn.finishing.Err() == nil {
			t.turn.lane.stuck(t, err)
		}
		t.drop()
		return
	}
	t.done()
}
