package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"weir/eventlog"
)

// Occasion is something that endpoints are told about.
type Occasion struct {
	Project  string
	Type     string          // event type, such as deploy.succeeded
	Payload  json.RawMessage // any JSON value
	At       time.Time       // when it happened: the body's timestamp
	Cause    string          // identifies the occasion: the same cause gives the same delivery ids
	EventIDs []string        // of the events it tells about
	Endpoint string          // only to this one; "": to all that are subscribed
	Existing bool            // only to endpoints that existed at At
	Once     bool            // one attempt, no retries
}

// Delivery is one that is owed.
type Delivery struct {
	ID         string `json:"id"`
	EndpointID string `json:"endpoint_id"`
}

// Decider decides what is owed. Safe for concurrent use.
type Decider struct {
	log    Log
	dir    Directory
	logger *slog.Logger
	now    func() time.Time
}

// NewDecider makes a Decider.
func NewDecider(log Log, dir Directory, logger *slog.Logger) *Decider {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Decider{log: log, dir: dir, logger: logger, now: time.Now}
}

// laneHeaders mark what the lane appends to the webhook events: the fold of
// deliveries takes nobody else's word for our deliveries.
var laneHeaders = []eventlog.Header{{Key: "origin", Value: []byte("webhooks")}}

// Decide appends what is owed for an occasion, in one record, and returns the
// deliveries; none when nobody is subscribed. On eventlog.ErrUnavailable it may or
// may not be owed: deciding again with the same Cause gives the same delivery ids.
func (d *Decider) Decide(ctx context.Context, o Occasion) ([]Delivery, error) {
	rec := d.decide(o)
	if len(rec.Owed) == 0 {
		return nil, nil
	}
	if err := d.append(ctx, rec); err != nil {
		return nil, err
	}
	made := make([]Delivery, len(rec.Owed))
	for i, one := range rec.Owed {
		made[i] = Delivery{ID: one.Delivery, EndpointID: one.Endpoint}
	}
	d.announce(ctx, rec)
	return made, nil
}

func (d *Decider) decide(o Occasion) *record {
	rec := &record{V: recordVersion, Cause: o.Cause, Project: o.Project, Type: o.Type, At: o.At, Control: d.dir.Next(), EventIDs: o.EventIDs, Payload: o.Payload}
	endpoints := []string{o.Endpoint}
	if o.Endpoint == "" {
		var existed time.Time
		if o.Existing {
			existed = o.At
		}
		endpoints = d.dir.Subscribed(o.Project, o.Type, existed)
	}
	for _, id := range endpoints {
		rec.Owed = append(rec.Owed, owed{Delivery: deliveryID(o.At, o.Cause, id), Endpoint: id, Number: 1, First: 1, Once: o.Once})
	}
	return rec
}

// append puts a decision into the log, once it returns nil.
func (d *Decider) append(ctx context.Context, rec *record) error {
	set := d.set(rec)
	_, err := d.log.Append(ctx, OwedTopic, d.log.PartitionFor(OwedTopic, set.Batch), set)
	return err
}

func (d *Decider) set(rec *record) eventlog.Set {
	return eventlog.Set{Key: []byte(rec.Project), Batch: digest("owed", rec.Cause), Time: d.now(), Values: [][]byte{rec.encode()}}
}

// announce shows what is owed as pending. It only helps readers: when it fails the
// first attempt shows the delivery.
func (d *Decider) announce(ctx context.Context, rec *record) {
	set := eventlog.Set{Key: []byte(rec.Project), Batch: digest("pending", rec.Cause), Time: d.now(), Headers: laneHeaders}
	for _, o := range rec.Owed {
		ep, _, _ := d.dir.Endpoint(o.Endpoint)
		set.Values = append(set.Values, stateEvent(d.now(), rec, o, ep, o.Number-1, statusPending))
	}
	_, err := d.log.Append(ctx, attemptsTopic, d.log.PartitionFor(attemptsTopic, set.Batch), set)
	if err != nil && !errors.Is(err, context.Canceled) {
		d.logger.Warn("deliveries are owed, and not shown as pending", "project", rec.Project, "deliveries", len(rec.Owed), "error", err)
	}
}
