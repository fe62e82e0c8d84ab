package webhooks

import (
	"context"
	"encoding/binary"
	"net/http"
	"regexp"
	"strings"
	"time"

	"weir/eventlog"
	"weir/internal/httpapi"
)

// RepeatsTopic holds the idempotency keys of POST /api/webhooks/deliver, for 24 hours.
const RepeatsTopic = "weir.webhooks.deliver.keys"

const (
	repeatsRetention = 24 * time.Hour

	// headerIdempotency and headerReplayed are those of POST /api/ingest.
	headerIdempotency = "X-Service-Idempotency-Key"
	headerReplayed    = "Idempotent-Replayed"

	// repeatsPatience bounds how long a request waits to see its own claim.
	repeatsPatience = 5 * time.Second
)

var uuidShape = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// Repeats knows which idempotency keys were used, and when: the claim that is first in
// the log holds, on every node. A key's deliveries are those of the occasion at that
// time, so they are found again in the log. It remembers the last mostFirsts keys.
type Repeats struct {
	log  NoticeLog
	keys *firsts
}

// NewRepeats makes it; it knows nothing until Run.
func NewRepeats(log NoticeLog) *Repeats { return &Repeats{log: log, keys: newFirsts(mostFirsts)} }

// Run follows the keys until ctx ends (its error). Call it once.
func (p *Repeats) Run(ctx context.Context) error { return tailTold(ctx, p.log, RepeatsTopic, p.keys) }

// claim says when a key was used first: now, or before.
func (p *Repeats) claim(ctx context.Context, project, key string, now time.Time) (first time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, repeatsPatience)
	defer cancel()
	if err := p.keys.wait(ctx, 0); err != nil {
		return first, err
	}
	thing := digest("deliver", project, key)
	if !p.keys.known(thing) {
		var at [16]byte
		binary.BigEndian.PutUint64(at[:], uint64(now.UnixMilli()))
		next, err := p.log.Append(ctx, RepeatsTopic, 0, eventlog.Set{Key: []byte(project), Batch: digest("deliver key", randomID()), Time: now,
			Values: [][]byte{append(append([]byte(nil), thing[:]...), at[:]...)}})
		if err != nil {
			return first, err
		}
		if err := p.keys.wait(ctx, next+1); err != nil {
			return first, err
		}
	}
	return time.UnixMilli(int64(p.keys.first(thing))).UTC(), nil
}

// oweOnce decides what a request with an idempotency key brought, unless it was
// decided before: then it answers as it did, whatever the request's body is.
func (a *API) oweOnce(w http.ResponseWriter, r *http.Request, o Occasion, given []string) error {
	key := strings.ToLower(given[0])
	if len(given) != 1 || !uuidShape.MatchString(key) || a.cfg.Repeats == nil {
		return httpapi.Errorf(httpapi.CodeInvalidIdempotency, "send %s once, as a UUID such as 123e4567-e89b-12d3-a456-426614174000", headerIdempotency)
	}
	at, err := a.cfg.Repeats.claim(r.Context(), o.Project, key, a.now())
	if err != nil {
		return logError(err)
	}
	o.At, o.Cause = at, "key:"+o.Project+":"+key
	made, err := a.made(r.Context(), o)
	if err != nil {
		return logError(err)
	}
	if made != nil {
		w.Header().Set(headerReplayed, "true")
	} else {
		if _, err = a.cfg.Decider.Decide(r.Context(), o); err == nil {
			made, err = a.made(r.Context(), o) // of two requests at once the one that is first in the log holds
		}
		if err != nil {
			return logError(err)
		}
	}
	if made == nil {
		made = []Delivery{}
	}
	httpapi.WriteJSON(w, http.StatusAccepted, owedAnswer{made})
	return nil
}

// made finds the deliveries of an occasion that was decided before; nil: it was not.
func (a *API) made(ctx context.Context, o Occasion) (made []Delivery, err error) {
	batch := digest("owed", o.Cause)
	tp := eventlog.TopicPartition{Topic: OwedTopic, Partition: a.cfg.Log.PartitionFor(OwedTopic, batch)}
	from, err := a.cfg.Log.OffsetAt(ctx, tp.Topic, tp.Partition, o.At.Add(-time.Minute)) // clocks differ
	if err != nil {
		return nil, err
	}
	err = scan(ctx, a.cfg.Log, tp, from, func(r *eventlog.Record) bool {
		if r.Batch != batch {
			return true
		}
		if rec, err := decodeRecord(r.Value); err == nil {
			for _, one := range rec.Owed {
				made = append(made, Delivery{ID: one.Delivery, EndpointID: one.Endpoint})
			}
		}
		return false
	})
	return made, err
}
