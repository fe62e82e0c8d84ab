package webhooks

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"weir/eventlog"
)

// Past is a delivery as the history shows it.
type Past struct {
	ID         string
	ProjectID  string
	EndpointID string
	Status     string
	Attempts   int // the number of its last attempt
}

// again owes deliveries anew: the same ids, numbers that go on, one record each,
// spread over time at a rate per second (0: at once).
func (d *Decider) again(ctx context.Context, past []Past, records map[string]*record, perSecond float64) ([]Delivery, error) {
	round, start := randomID(), d.now()
	made := make([]Delivery, len(past))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(atOnce)
	for i, p := range past {
		rec := records[p.ID]
		if rec == nil {
			continue
		}
		o := owed{Delivery: p.ID, Endpoint: p.EndpointID, Number: p.Attempts + 1, First: p.Attempts + 1, Round: round}
		if perSecond > 0 {
			o.Due = start.Add(time.Duration(float64(i) / perSecond * float64(time.Second))).UnixMilli()
		}
		one := rec.with(o)
		one.Cause, one.Control = round+":"+p.ID, d.dir.Next()
		work.Go(func() error {
			if err := d.append(ctx, one); err != nil {
				return err
			}
			made[i] = Delivery{ID: p.ID, EndpointID: p.EndpointID}
			d.announce(ctx, one)
			return nil
		})
	}
	err := work.Wait()
	return slices.DeleteFunc(made, func(one Delivery) bool { return one.ID == "" }), err
}

// atOnce is how many records one request appends at once.
const atOnce = 16

// start is where looking for what was missed begins: at a time, and in some
// partitions of OwedTopic at an offset instead.
type start struct {
	at      time.Time
	offsets map[int]int64
}

// missed finds the occasions since a start that an endpoint would be told about and
// was not, at most limit; next is where the rest begins, nil when that was all. The
// deliveries are decided as if it had been there, so asking twice owes the same ids.
func missed(ctx context.Context, log Log, ep *Endpoint, covers func(eventType string) bool, from start, limit int) (found []*record, next eventlog.Positions, err error) {
	for p := range log.Partitions(OwedTopic) {
		offset, given := from.offsets[p]
		if !given {
			if offset, err = log.OffsetAt(ctx, OwedTopic, p, from.at); err != nil {
				return nil, nil, err
			}
		}
		full := len(found) == limit
		err = scan(ctx, log, eventlog.TopicPartition{Topic: OwedTopic, Partition: p}, offset, func(r *eventlog.Record) bool {
			if full {
				return false
			}
			offset = r.Offset + 1
			if rec, err := decodeRecord(r.Value); err == nil && wasMissed(rec, ep, covers) {
				found = append(found, rec)
				full = len(found) == limit
			}
			return true
		})
		if err != nil {
			return nil, nil, err
		}
		next = append(next, eventlog.Position{Topic: OwedTopic, Partition: p, Next: offset})
	}
	if len(found) < limit {
		next = nil
	}
	return found, next, nil
}

func wasMissed(rec *record, ep *Endpoint, covers func(eventType string) bool) bool {
	if rec.Project != ep.ProjectID || !covers(rec.Type) || len(rec.Owed) == 0 || rec.Owed[0].Round != "" {
		return false
	}
	return !slices.ContainsFunc(rec.Owed, func(o owed) bool { return o.Endpoint == ep.ID })
}

func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
