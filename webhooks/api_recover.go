package webhooks

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"weir/eventlog"
	"weir/internal/httpapi"
)

// What recover can be asked for.
const (
	includeFailed = "failed" // deliveries that ended without success
	includeMissed = "missed" // occasions that the endpoint was not there for
)

type recoverAnswer struct {
	Found     int        `json:"found"` // there are so many; of what was missed, at most the limit of one request
	Scheduled int        `json:"scheduled"`
	PerSecond float64    `json:"rate_per_second"`
	DryRun    bool       `json:"dry_run"`
	Owed      []Delivery `json:"deliveries"`
	Next      *string    `json:"next"` // from for what is left of what was missed; null: nothing
}

// recover owes again what failed since a time, or what a new endpoint missed: the
// oldest maxRecover of it, at a bounded rate. With dry_run it only counts.
func (a *API) recover(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Since   string `json:"since"`
		From    string `json:"from"`
		DryRun  bool   `json:"dry_run"`
		Include string `json:"include"`
	}
	if err := httpapi.DecodeJSON(w, r, maxRequest, &in); err != nil {
		return err
	}
	ep, err := a.own(r)
	if err != nil {
		return err
	}
	begin, problems, err := a.begin(r.Context(), in.Since, in.From)
	if err != nil {
		return err
	}
	if in.Include == "" {
		in.Include = includeFailed
	}
	if in.Include != includeFailed && in.Include != includeMissed {
		problems = append(problems, httpapi.ParamProblem{Name: "include", Reason: "must be failed or missed"})
	}
	if in.Include == includeFailed && len(begin.offsets) > 0 && begin.at.IsZero() {
		problems = append(problems, httpapi.ParamProblem{Name: "from", Reason: "must be the position of an event when failed deliveries are asked for"})
	}
	if err := httpapi.FieldErrors(problems...); err != nil {
		return err
	}
	if !in.DryRun {
		if _, err := a.enabled(ep.ProjectID, ep.ID); err != nil {
			return err
		}
	}
	answer := recoverAnswer{PerSecond: recoverRate, DryRun: in.DryRun, Owed: []Delivery{}}
	if ep.Rate > 0 {
		answer.PerSecond = min(ep.Rate, recoverRate)
	}
	if in.Include == includeMissed {
		err = a.sendMissed(r.Context(), ep, begin, &answer)
	} else {
		err = a.sendFailed(r.Context(), ep, begin.at, &answer)
	}
	if err != nil {
		return err
	}
	status := http.StatusAccepted
	if in.DryRun {
		status = http.StatusOK
	}
	httpapi.WriteJSON(w, status, answer)
	return nil
}

// begin reads where to begin: since, a time, or from, a position of the log: an
// event, which stands for the time it was received, or where a request like this ended.
func (a *API) begin(ctx context.Context, since, from string) (begin start, problems []httpapi.ParamProblem, err error) {
	bad := func(name, reason string) (start, []httpapi.ParamProblem, error) {
		return begin, []httpapi.ParamProblem{{Name: name, Reason: reason}}, nil
	}
	if from == "" {
		if begin.at, err = time.Parse(time.RFC3339Nano, since); err != nil {
			return bad("since", "required, an RFC 3339 time, or from")
		}
		return begin, nil, nil
	}
	positions, err := eventlog.ParsePositions(from)
	if err != nil || since != "" {
		return bad("from", "must be a position of the log such as deploy:0:17, and goes without since")
	}
	begin.offsets = map[int]int64{}
	for _, p := range positions {
		if p.Topic != OwedTopic && !slices.Contains(eventlog.EventsTopics(), p.Topic) || p.Partition >= a.cfg.Log.Partitions(p.Topic) {
			return bad("from", "names no partition of an event type")
		}
		if p.Topic == OwedTopic {
			begin.offsets[p.Partition] = p.Next
			continue
		}
		at, err := a.received(ctx, p)
		switch {
		case errors.Is(err, eventlog.ErrBehindRetention), errors.Is(err, eventlog.ErrPastEnd):
			return bad("from", "is not in the log: older than what is kept, or not written yet")
		case err != nil:
			return begin, nil, logError(err)
		case begin.at.IsZero() || at.Before(begin.at):
			begin.at = at
		}
	}
	return begin, nil, nil
}

// received is when the record at a position was received; at the end of the log, now.
func (a *API) received(ctx context.Context, p eventlog.Position) (time.Time, error) {
	chunk, err := a.cfg.Log.Fetch(ctx, p.Topic, p.Partition, p.Next, 1, scanWait)
	if err != nil || len(chunk.Records) == 0 {
		return a.now(), err
	}
	return chunk.Records[0].Time, nil
}

func (a *API) sendFailed(ctx context.Context, ep *Endpoint, since time.Time, answer *recoverAnswer) error {
	past, total, err := a.cfg.History.Failed(ctx, ep.ProjectID, ep.ID, since, maxRecover)
	answer.Found = total
	if err != nil || answer.DryRun || len(past) == 0 {
		return err
	}
	made, err := a.oweAgain(ctx, past, answer.PerSecond)
	answer.Scheduled = len(made)
	if len(made) > 0 {
		answer.Owed = made
	}
	return err
}

func (a *API) sendMissed(ctx context.Context, ep *Endpoint, from start, answer *recoverAnswer) error {
	d := a.cfg.Decider
	covers := func(eventType string) bool { return ep.Covers == nil || ep.Covers(eventType) }
	records, next, err := missed(ctx, a.cfg.Log, ep, covers, from, maxRecover)
	if err != nil {
		return logError(err)
	}
	if next != nil {
		text := next.String()
		answer.Next = &text
	}
	began := d.now()
	for _, rec := range records {
		id := deliveryID(rec.At, rec.Cause, ep.ID)
		if _, known, err := a.cfg.History.Delivery(ctx, ep.ProjectID, id); err != nil {
			return err
		} else if known {
			continue
		}
		answer.Found++
		if answer.DryRun {
			continue
		}
		due := began.Add(time.Duration(float64(answer.Scheduled) / answer.PerSecond * float64(time.Second)))
		one := rec.with(owed{Delivery: id, Endpoint: ep.ID, Number: 1, First: 1, Round: includeMissed, Due: due.UnixMilli()})
		one.Control = d.dir.Next()
		cause := one.Cause
		one.Cause = cause + ":" + ep.ID // another record than the one it is taken from
		if err := d.append(ctx, one); err != nil {
			return logError(err)
		}
		d.announce(ctx, one)
		answer.Scheduled++
		answer.Owed = append(answer.Owed, Delivery{ID: id, EndpointID: ep.ID})
	}
	return nil
}
