package receipts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"weir/eventlog"
)

// Answered is a batch as its idempotency key was answered.
type Answered struct {
	Batch     [16]byte // of its events in the log
	Accepted  int64    // events
	Positions string   // up to where its events are
}

// Answers reads what a project's idempotency keys were answered from one time
// (included) to another (not included); a zero time bounds nothing. The topic
// keeps receipts for a little over a day. A batch whose end two gateways have
// told is there once.
func Answers(ctx context.Context, log Log, project string, from, to time.Time) ([]Answered, error) {
	bounds, err := log.Bounds(ctx, eventlog.ReceiptsTopic)
	if err != nil {
		return nil, err
	}
	var all []Answered
	known := map[[16]byte]bool{}
	for _, b := range bounds {
		err := read(ctx, log, eventlog.ReceiptsTopic, b.Partition, b.Start, b.End, func(r *eventlog.Record) {
			if string(r.Key) != project || (!from.IsZero() && r.Time.Before(from)) || (!to.IsZero() && !r.Time.Before(to)) {
				return
			}
			rec, err := parseRecord(r.Value)
			if err != nil || !rec.receipt {
				return
			}
			var answer struct {
				Accepted int64 `json:"accepted"`
			}
			batch := batchOf(r.Batch, rec.origin)
			if json.Unmarshal(rec.body, &answer) == nil && !known[batch] {
				known[batch] = true
				all = append(all, Answered{batch, answer.Accepted, rec.positions})
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// InLog counts a batch's events where its receipt says that they are.
func (a Answered) InLog(ctx context.Context, log Log) (int64, error) {
	positions, err := eventlog.ParsePositions(a.Positions)
	if err != nil {
		return 0, err
	}
	var found int64
	for _, p := range positions {
		err := read(ctx, log, p.Topic, p.Partition, max(0, p.Next-a.Accepted), p.Next, func(r *eventlog.Record) {
			if r.Batch == a.Batch {
				found++
			}
		})
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// read hands out the records of a partition from one offset up to another.
func read(ctx context.Context, log Log, topic string, partition int, from, to int64, each func(*eventlog.Record)) error {
	for from < to {
		c, err := log.Fetch(ctx, topic, partition, from, findBytes, time.Second)
		if err != nil {
			return err
		}
		if c.Next <= from {
			return fmt.Errorf("%w: %s partition %d gives nothing at offset %d", eventlog.ErrUnavailable, topic, partition, from)
		}
		for i := range c.Records {
			if c.Records[i].Offset < to {
				each(&c.Records[i])
			}
		}
		from = c.Next
	}
	return nil
}
