package webhooks

import (
	"context"
	"time"

	"weir/eventlog"
)

// find reads the records of deliveries back: a delivery's id tells when it was
// decided, so reading begins there and ends when all were found. What is missing
// in the answer is not in the log.
func find(ctx context.Context, log Log, ids []string) (map[string]*record, error) {
	wanted := make(map[string]bool, len(ids))
	var since time.Time
	for _, id := range ids {
		at, ours := decidedAt(id)
		if !ours {
			continue
		}
		wanted[id] = true
		if since.IsZero() || at.Before(since) {
			since = at
		}
	}
	found := make(map[string]*record, len(wanted))
	for p := range log.Partitions(OwedTopic) {
		if len(wanted) == len(found) {
			break
		}
		from, err := log.OffsetAt(ctx, OwedTopic, p, since)
		if err != nil {
			return nil, err
		}
		err = scan(ctx, log, eventlog.TopicPartition{Topic: OwedTopic, Partition: p}, from, func(r *eventlog.Record) bool {
			rec, err := decodeRecord(r.Value)
			if err != nil {
				return true
			}
			for _, o := range rec.Owed {
				if wanted[o.Delivery] && found[o.Delivery] == nil {
					found[o.Delivery] = rec
				}
			}
			return len(found) < len(wanted)
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
