// Package deliveries folds webhook events into deliveries and their attempts.
//
// A webhook event is one of three things:
//
//   - An attempt of a delivery of ours: the webhook lane appended it, which the
//     record's header [OriginHeader] = [OriginLane] says. Clients cannot set
//     record headers, so nobody can write into our history from outside. Its
//     data has the fields in fields.go, deliveryId among them.
//   - A state of a delivery of ours without an attempt (pending, canceled): the
//     same, with attempt 0 or without status.
//   - Anything else is a delivery of its own with one attempt: an integration
//     tells what it delivered itself. Its id is "evt_" and the event id; fields
//     of ours that it happens to have are taken as far as they describe the
//     attempt (durationMs, eventType, …), never deliveryId.
package deliveries

import (
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"weir/eventlog"
	"weir/projections"
	"weir/readmodel/tables"
	"weir/schemas"
)

// Version of the fold. Raise it when the same log would give other rows.
const Version = 2

// Name of the projection.
const Name = "deliveries"

// The record header by which the webhook lane marks what it appends.
const (
	OriginHeader = "origin"
	OriginLane   = "webhooks"
)

// Statuses of a delivery.
const (
	Pending   = "pending"
	Succeeded = "succeeded"
	Retrying  = "retrying"
	Exhausted = "exhausted"
	Canceled  = "canceled"
)

// Failed is the status of an attempt that did not succeed.
const Failed = "failed"

// Failure codes that the fold itself gives to events of integrations, which name
// none.
const (
	FailureStatus     = "status"      // an answer other than 2xx
	FailureNoResponse = "no_response" // no status code
)

// Projection folds the topic of webhook events.
func Projection() projections.Projection {
	return projections.Projection{
		Name:    Name,
		Version: Version,
		Topics:  []string{eventlog.EventsTopic(schemas.Webhook)},
		Tables:  []tables.Table{tables.Deliveries(), tables.DeliveryAttempts()},
		Measures: []projections.Measure{
			{Table: tables.DeliveryAttempts(), Rows: "count()", Partition: "`partition`", Of: attempted},
			{Table: tables.Deliveries(), Rows: "sum(attempt_count)", Of: attempted},
		},
		New: func() projections.Fold { return newFold() },
	}
}

var (
	errNoProject    = errors.New("record names no project")
	errNoDeliveryID = errors.New("data.deliveryId: required in an event of the webhook lane")
)

type fold struct {
	arena      projections.Arena
	event      event
	visit      func(name, value []byte) bool
	deliveries deliveryRows
	attempts   attemptRows
}

func newFold() *fold {
	f := &fold{deliveries: deliveryRows{at: map[deliveryKey]int{}}}
	f.visit = f.event.member
	return f
}

func (f *fold) Add(r *eventlog.Record) error {
	e, err := schemas.Open(r.Value)
	if err != nil {
		return fmt.Errorf("record is no event: %w", err)
	}
	if e.Type != schemas.Webhook {
		return fmt.Errorf("event is of type %s, not webhook", e.Type)
	}
	if len(r.Key) == 0 {
		return errNoProject
	}
	f.event = event{}
	if err := schemas.Members(e.Data, f.visit); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	if f.event.fault != nil {
		return f.event.fault
	}
	id := r.EventID()
	a := attempt{
		event: &f.event, project: projections.Text(r.Key), eventID: f.arena.Add(id[:]),
		ts: e.TS, received: r.Time, partition: uint32(r.Partition), offset: r.Offset,
	}
	if err := f.identify(&a, r, id); err != nil {
		return err
	}
	f.deliveries.add(&a)
	if a.made {
		f.attempts.add(&a)
	}
	return nil
}

// identify says which delivery the event belongs to and what it means for it.
func (f *fold) identify(a *attempt, r *eventlog.Record, id [16]byte) error {
	if fromLane(r) {
		if a.deliveryID == "" {
			return errNoDeliveryID
		}
		return a.ours()
	}
	a.deliveryID = f.arena.Grow(func(b []byte) []byte { return hex.AppendEncode(append(b, "evt_"...), id[:]) })
	a.theirs()
	return nil
}

func fromLane(r *eventlog.Record) bool {
	for _, h := range r.Headers {
		if h.Key == OriginHeader {
			return string(h.Value) == OriginLane
		}
	}
	return false
}

func (f *fold) Blocks() []projections.Block {
	return []projections.Block{f.deliveries.block(), f.attempts.block()}
}

func (f *fold) Reset() {
	f.arena.Reset()
	f.event = event{}
	f.deliveries.reset()
	f.attempts = attemptRows{}
}

// attempt is one event as it goes into the rows.
type attempt struct {
	*event
	project, eventID string
	ts, received     time.Time
	partition        uint32
	offset           int64
	made             bool   // an attempt, not only a state
	outcome          string // of the attempt: succeeded or failed
	state            string // of the delivery after it
	failureCode      string
	began            time.Time
}

// ours takes what the lane says.
func (a *attempt) ours() error {
	a.made = a.status != "" && a.number > 0
	a.outcome, a.failureCode, a.state, a.began = a.status, a.failure, a.deliveryStatus, a.startedAt
	if a.began.IsZero() {
		a.began = a.ts
	}
	if a.made && a.outcome != Succeeded && a.outcome != Failed {
		return fmt.Errorf("data.status: must be %s or %s", Succeeded, Failed)
	}
	switch a.state {
	case Pending, Succeeded, Retrying, Exhausted, Canceled:
		return nil
	}
	return fmt.Errorf("data.deliveryStatus: must be %s, %s, %s, %s or %s", Pending, Succeeded, Retrying, Exhausted, Canceled)
}

// theirs judges by the status code alone: 2xx succeeded. What failed is
// exhausted, because no other attempt of this delivery can ever follow.
func (a *attempt) theirs() {
	a.payload = "" // nobody writes into the feed from outside
	a.made, a.began = true, a.startedAt
	if a.began.IsZero() {
		a.began = a.ts
	}
	switch {
	case a.statusCode >= 200 && a.statusCode <= 299:
		a.outcome, a.state = Succeeded, Succeeded
		return
	case a.failure != "":
		a.failureCode = a.failure
	case a.statusCode == 0:
		a.failureCode = FailureNoResponse
	default:
		a.failureCode = FailureStatus
	}
	a.outcome, a.state = Failed, Exhausted
}
