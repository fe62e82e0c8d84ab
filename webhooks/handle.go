package webhooks

import (
	"context"
	"time"

	"weir/eventlog"
)

// handle decides what is to be done with a delivery whose record is due. It does
// not wait for anything but the Directory.
func (l *Lane) handle(t *task) {
	if l.repeated(t) {
		return
	}
	ep, known, err := l.cfg.Directory.Endpoint(t.owed.Endpoint)
	if t.reader.tp.Topic == OwedTopic {
		l.metrics.owed.WithLabelValues(kindOf(ep)).Inc()
	}
	now := l.cfg.Now()
	if due := time.UnixMilli(t.owed.Due); t.owed.Due > 0 && due.After(now) {
		t.later(func(ctx context.Context) error { return l.move(ctx, t, due) })
		return
	}
	switch {
	case !known || err == nil && (!ep.Enabled || ep.ProjectID != t.rec.Project):
		t.later(func(ctx context.Context) error { return l.cancel(ctx, t, ep) })
		return
	case err != nil:
		l.cfg.Logger.Error("an endpoint's secrets cannot be opened with this master key: its deliveries wait", "endpoint", t.owed.Endpoint)
		t.later(func(ctx context.Context) error { return l.move(ctx, t, now.Add(time.Minute)) })
		return
	}
	wait, reason := l.endpoint(ep.ID).offer(t, ep)
	if reason == "" {
		return
	}
	l.metrics.moved.WithLabelValues(reason).Inc()
	t.later(func(ctx context.Context) error { return l.move(ctx, t, now.Add(wait)) })
}

// repeated finishes a delivery whose step was made before a crash or a rebalance;
// false when there was none.
func (l *Lane) repeated(t *task) bool {
	switch made, moved := t.turn.past.look(t.owed); {
	case moved:
		t.done()
	case made == nil:
		return false
	case made.next.IsZero():
		t.done()
	default: // the outcome was written, the next attempt was not
		t.later(func(ctx context.Context) error { return l.next(ctx, t, made.next) })
	}
	return true
}

// move puts a delivery into a delay topic, its next attempt unchanged.
func (l *Lane) move(ctx context.Context, t *task, due time.Time) error {
	o := t.owed
	o.Hop++
	o.Due = due.UnixMilli()
	l.cfg.step("before move", t.owed.Delivery)
	err := l.delay(ctx, t.rec, o, due)
	l.cfg.step("moved", t.owed.Delivery)
	return err
}

// next puts the attempt after this one into a delay topic.
func (l *Lane) next(ctx context.Context, t *task, due time.Time) error {
	o := t.owed
	o.Number++
	o.Hop = 0
	o.Due = due.UnixMilli()
	return l.delay(ctx, t.rec, o, due)
}

func (l *Lane) delay(ctx context.Context, rec *record, o owed, due time.Time) error {
	now := l.cfg.Now()
	topic := retryTopic(hop(l.cfg.Delays, due.Sub(now)))
	return l.writer.once(ctx, topic, eventlog.Set{
		Key: []byte(rec.Project), Batch: o.batch("retry"), Time: now, Values: [][]byte{rec.with(o).encode()},
	})
}

// cancel ends a delivery whose endpoint was deleted or disabled.
func (l *Lane) cancel(ctx context.Context, t *task, ep *Endpoint) error {
	l.metrics.canceled.WithLabelValues(kindOf(ep)).Inc()
	now := l.cfg.Now()
	return l.writer.once(ctx, attemptsTopic, eventlog.Set{
		Key: []byte(t.rec.Project), Batch: t.owed.batch("canceled"), Time: now, Headers: laneHeaders,
		Values: [][]byte{stateEvent(now, t.rec, t.owed, ep, t.owed.Number-1, statusCanceled)},
	})
}

// stuck says that a delivery's step cannot be written: it stays owed, and its
// partition's checkpoint stays where it is.
func (l *Lane) stuck(t *task, err error) {
	l.cfg.Logger.Error("a step of a webhook delivery could not be appended; it is made again when the partition is next taken up",
		"delivery", t.owed.Delivery, "topic", t.reader.tp.Topic, "error", err)
	l.problem(t.reader.name(), err)
}
