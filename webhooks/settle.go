package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"weir/eventlog"
)

const (
	// noteAfter is how long an endpoint fails before the control log notes since
	// when, disableAfter how long before it is disabled.
	noteAfter    = time.Hour
	disableAfter = 5 * 24 * time.Hour

	// TypeDisabled is the event type of the notice that an endpoint was disabled by the lane.
	TypeDisabled = "webhook.endpoint.disabled"

	reasonGone    = "gone"         // the receiver answered 410
	reasonFailing = "failing_days" // every attempt failed for five days
)

// settle writes down what an attempt came to, then the next one, in this order.
func (l *Lane) settle(ctx context.Context, t *task, out outcome) error {
	l.cfg.step("attempted", t.owed.Delivery)
	status, next := l.verdict(t.owed, out)
	now := l.cfg.Now()
	attempt := t.owed
	attempt.Hop = 0 // however it came to be made: made twice it is the same event
	err := l.writer.once(ctx, attemptsTopic, eventlog.Set{
		Key: []byte(t.rec.Project), Batch: attempt.batch("attempt"), Time: now, Headers: laneHeaders,
		Values: [][]byte{out.event(t.rec, t.owed, status, next)},
	})
	if err != nil {
		return err
	}
	l.metrics.attempted(out, status)
	l.cfg.step("recorded", t.owed.Delivery)
	if !next.IsZero() {
		if err := l.next(ctx, t, next); err != nil {
			return err
		}
		l.cfg.step("scheduled", t.owed.Delivery)
	}
	l.judge(ctx, t, out)
	l.cfg.step("judged", t.owed.Delivery)
	return nil
}

// verdict is the delivery's status after an attempt and when the next one is due.
func (l *Lane) verdict(o owed, out outcome) (status string, next time.Time) {
	if out.succeeded() {
		return statusSucceeded, next
	}
	pause, more := pauseBefore(out.endpoint.Schedule, o.Number, o.First)
	if !more || o.Once || out.status == gone {
		return statusExhausted, next
	}
	now := l.cfg.Now()
	pause = max(pause, retryAfter(out.status, out.header, now))
	return statusRetrying, now.Add(pause)
}

// judge notes what the attempt says about the endpoint. It is no part of the
// delivery: when it fails the next attempt says the same again.
func (l *Lane) judge(ctx context.Context, t *task, out outcome) {
	ep := out.endpoint
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var err error
	switch {
	case out.succeeded():
		if !ep.FailingSince.IsZero() {
			err = l.cfg.Health.Failing(ctx, ep.ID, time.Time{})
		}
	case out.status == gone:
		err = l.disable(ctx, t.rec.Project, ep, reasonGone)
	default:
		since := ep.FailingSince
		if since.IsZero() {
			since = l.endpoint(ep.ID).failingSince()
		}
		switch failed := l.cfg.Now().Sub(since); {
		case since.IsZero():
		case failed >= disableAfter:
			err = l.disable(ctx, t.rec.Project, ep, reasonFailing)
		case failed >= noteAfter && ep.FailingSince.IsZero():
			err = l.cfg.Health.Failing(ctx, ep.ID, since)
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		l.cfg.Logger.Warn("an endpoint's health could not be noted", "endpoint", ep.ID, "error", err)
	}
}

// disable ends deliveries to an endpoint and tells the project's other endpoints.
func (l *Lane) disable(ctx context.Context, project string, ep *Endpoint, reason string) error {
	if err := l.cfg.Health.Disable(ctx, ep.ID, reason); err != nil {
		return err
	}
	payload, _ := json.Marshal(map[string]string{"endpoint_id": ep.ID, "url": ep.Shown, "reason": reason,
		"message": "Deliveries to a webhook endpoint were stopped; enable it again when its receiver works, then recover what it missed."})
	at := l.cfg.Now()
	_, err := l.decider.Decide(ctx, Occasion{Project: project, Type: TypeDisabled, Payload: payload, At: at,
		Cause: "endpoint.disabled:" + ep.ID + ":" + strconv.Itoa(ep.Version)})
	return err
}
