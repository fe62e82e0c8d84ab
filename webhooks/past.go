package webhooks

import (
	"encoding/json"
	"slices"
	"time"

	"weir/eventlog"
	"weir/schemas"
)

// past is what had been done beyond the checkpoints when a turn began: which
// attempts have their outcome in the log, and which deliveries were moved on to a
// delay topic. It is read only.
type past struct {
	made  map[identity]attempted
	moved map[identity]standing
}

// attempted is the latest attempt that is in the log.
type attempted struct {
	number   int
	next     time.Time // when the next one is due; zero: there is none
	canceled bool
}

// standing is the latest record of a delivery in the delay topics.
type standing struct{ number, hop int }

// look says what was done with a delivery as a record owes it: moved on, or
// attempted but perhaps not moved on.
func (p *past) look(o owed) (made *attempted, moved bool) {
	if p == nil {
		return nil, false
	}
	if at, ok := p.moved[o.identity()]; ok && (at.number > o.Number || at.number == o.Number && at.hop > o.Hop) {
		return nil, true
	}
	if a, ok := p.made[o.identity()]; ok {
		if a.number > o.Number || a.number == o.Number || a.canceled && a.number == o.Number-1 {
			if a.number > o.Number {
				return nil, true // the one after it was made, so it had been moved on
			}
			return &a, false
		}
	}
	return nil, false
}

// recall reads what was appended since the first record that is not done became due.
func (t *turn) recall(readers []*reader) (*past, error) {
	since, err := t.oldest(readers)
	if err != nil || since.IsZero() {
		return nil, err
	}
	p := &past{made: map[identity]attempted{}, moved: map[identity]standing{}}
	for _, topic := range slices.Concat(t.lane.topics()[1:], []string{attemptsTopic}) {
		for partition := range t.lane.cfg.Log.Partitions(topic) {
			tp := eventlog.TopicPartition{Topic: topic, Partition: partition}
			from, err := t.lane.cfg.Log.OffsetAt(t.reading, topic, partition, since)
			if err != nil {
				return nil, err
			}
			if err := scan(t.reading, t.lane.cfg.Log, tp, from, p.take); err != nil {
				return nil, err
			}
		}
	}
	t.lane.cfg.Logger.Info("read what was done beyond the checkpoints", "since", since, "attempts", len(p.made), "moved", len(p.moved))
	return p, nil
}

// oldest is when the first record that is not done became due, less the slack of
// clocks; zero when nothing is due. Nothing can have been done with it before.
func (t *turn) oldest(readers []*reader) (time.Time, error) {
	var since time.Time
	now := t.lane.cfg.Now()
	for _, r := range readers {
		chunk, err := t.lane.cfg.Log.Fetch(t.reading, r.tp.Topic, r.tp.Partition, r.from, 1, scanWait)
		if err != nil {
			if final(err) || !isUnavailable(err) {
				continue // its reader will say so
			}
			return since, err
		}
		if len(chunk.Records) == 0 {
			continue
		}
		due := chunk.Records[0].Time.Add(r.delay).Add(-t.lane.cfg.ClockSlack)
		if due.Before(now) && (since.IsZero() || due.Before(since)) {
			since = due
		}
	}
	return since, nil
}

// take notes one record of the attempts or of a delay topic.
func (p *past) take(r *eventlog.Record) bool {
	if r.Topic != attemptsTopic {
		if rec, err := decodeRecord(r.Value); err == nil {
			for _, o := range rec.Owed {
				at, had := p.moved[o.identity()]
				if !had || o.Number > at.number || o.Number == at.number && o.Hop > at.hop {
					p.moved[o.identity()] = standing{o.Number, o.Hop}
				}
			}
		}
		return true
	}
	if !slices.ContainsFunc(r.Headers, func(h eventlog.Header) bool {
		return h.Key == laneHeaders[0].Key && string(h.Value) == string(laneHeaders[0].Value)
	}) {
		return true
	}
	p.attempt(r)
	return true
}

func (p *past) attempt(r *eventlog.Record) {
	e, err := schemas.Open(r.Value)
	if err != nil {
		return
	}
	var d struct {
		DeliveryID, DeliveryStatus, Status, Round string
		Attempt                                   int
		NextAttemptAt                             int64
	}
	if json.Unmarshal(e.Data, &d) != nil || d.DeliveryStatus == statusPending {
		return
	}
	a := attempted{number: d.Attempt, canceled: d.DeliveryStatus == statusCanceled}
	if d.NextAttemptAt > 0 {
		a.next = time.UnixMilli(d.NextAttemptAt)
	}
	id := identity{d.DeliveryID, d.Round}
	if had, ok := p.made[id]; !ok || a.number > had.number || a.number == had.number && a.canceled {
		p.made[id] = a
	}
}
