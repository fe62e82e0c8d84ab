package webhooks

import (
	"context"
	"net/http"
	"time"

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
}

// recover owes again what failed since a time, or what a new endpoint missed: the
// oldest maxRecover of it, at a bounded rate. With dry_run it only counts.
func (a *API) recover(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Since   string `json:"since"`
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
	var problems []httpapi.ParamProblem
	since, errSince := time.Parse(time.RFC3339Nano, in.Since)
	if errSince != nil {
		problems = append(problems, httpapi.ParamProblem{Name: "since", Reason: "required, an RFC 3339 time"})
	}
	if in.Include == "" {
		in.Include = includeFailed
	}
	if in.Include != includeFailed && in.Include != includeMissed {
		problems = append(problems, httpapi.ParamProblem{Name: "include", Reason: "must be failed or missed"})
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
		err = a.sendMissed(r.Context(), ep, since, &answer)
	} else {
		err = a.sendFailed(r.Context(), ep, since, &answer)
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

func (a *API) sendMissed(ctx context.Context, ep *Endpoint, since time.Time, answer *recoverAnswer) error {
	d := a.cfg.Decider
	covers := func(eventType string) bool { return ep.Covers == nil || ep.Covers(eventType) }
	records, err := missed(ctx, a.cfg.Log, ep, covers, since, maxRecover)
	if err != nil {
		return logError(err)
	}
	start := d.now()
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
		due := start.Add(time.Duration(float64(answer.Scheduled) / answer.PerSecond * float64(time.Second)))
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
