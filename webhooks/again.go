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

// missed finds the occasions since a time that an endpoint would be told about and
// was not, oldest first, at most limit. The deliveries are decided as if it had
// been there, so asking twice owes the same ids.
func missed(ctx context.Context, log Log, ep *Endpoint, covers func(eventType string) bool, since time.Time, limit int) ([]*record, error) {
	var found []*record
	for p := range log.Partitions(OwedTopic) {
		from, err := log.OffsetAt(ctx, OwedTopic, p, since)
		if err != nil {
			return nil, err
		}
		err = scan(ctx, log, eventlog.TopicPartition{Topic: OwedTopic, Partition: p}, from, func(r *eventlog.Record) bool {
			rec, err := decodeRecord(r.Value)
			if err != nil || rec.Project != ep.ProjectID || !covers(rec.Type) || len(rec.Owed) == 0 || rec.Owed[0].Round != "" {
				return true
			}
			for _, o := range rec.Owed {
				if o.Endpoint == ep.ID {
					return true
				}
			}
			found = append(found, rec)
			return len(found) < limit
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
