package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/ingest/receipts"
	"weir/internal/httpapi"
	"weir/projections"
)

// proveItem is a proof under way or the last one of a project.
type proveItem = checkItem[projections.Proof]

const checkProve = "proof"

// proveRequest is the body of POST /api/projects/{id}/prove; all of it may be left out.
type proveRequest struct {
	From        *time.Time `json:"from"` // by received time; null: from the first record
	To          *time.Time `json:"to"`
	WaitSeconds *float64   `json:"wait_seconds"` // for folds that are behind; 30
}

const (
	proveWait  = 30 * time.Second
	provesWait = 10 * time.Minute // at most
)

func (c *checks) postProve(w http.ResponseWriter, r *http.Request) {
	project := chi.URLParam(r, "id")
	if _, known := c.portal.directory.Project(project); !known {
		httpapi.WriteError(w, r, httpapi.NotFound("project"))
		return
	}
	var in proveRequest
	if r.ContentLength != 0 {
		if err := httpapi.DecodeJSON(w, r, 4<<10, &in); err != nil {
			httpapi.WriteError(w, r, err)
			return
		}
	}
	q, err := in.proof(project)
	if err != nil {
		httpapi.WriteError(w, r, err)
		return
	}
	c.post(w, r, checkName{checkProve, project}, func(ctx context.Context, progress func(done, of int64)) (any, error) {
		return c.prove(ctx, q, progress)
	})
}

func (in proveRequest) proof(project string) (projections.ProofRequest, error) {
	q := projections.ProofRequest{Project: project, Wait: proveWait}
	if in.From != nil {
		q.From = *in.From
	}
	if in.To != nil {
		q.To = *in.To
	}
	if in.WaitSeconds != nil {
		q.Wait = min(provesWait, max(0, time.Duration(*in.WaitSeconds*float64(time.Second))))
	}
	if !q.From.IsZero() && !q.To.IsZero() && !q.To.After(q.From) {
		return q, httpapi.FieldErrors(httpapi.ParamProblem{Name: "to", Reason: "must be after from"})
	}
	return q, nil
}

func (c *checks) getProve(w http.ResponseWriter, r *http.Request) {
	c.get(w, r, checkName{checkProve, chi.URLParam(r, "id")})
}

// prove joins what idempotency keys were answered with what the log and the read models hold.
func (c *checks) prove(ctx context.Context, q projections.ProofRequest, progress func(done, of int64)) (projections.Proof, error) {
	answers, err := receipts.Answers(ctx, c.portal.log, q.Project, q.From, q.To)
	if err != nil {
		return projections.Proof{}, fmt.Errorf("reading the receipts: %w", err)
	}
	q.Batches = make(map[[16]byte]int64, len(answers))
	for _, a := range answers {
		q.Batches[a.Batch] = 0
	}
	proof, err := c.tool.Prove(ctx, q, progress)
	if err != nil {
		return proof, err
	}
	proof.Receipts, err = c.compareAnswers(ctx, answers, q.Batches)
	proof.Equal = proof.Equal && len(proof.Receipts.Short) == 0
	return proof, err
}

// shortShown bounds the batches that are named.
const shortShown = 20

// compareAnswers looks for every batch that was answered. Those whose events were received outside of
// the time that was read are looked up where their receipts say.
func (c *checks) compareAnswers(ctx context.Context, answers []receipts.Answered, counted map[[16]byte]int64) (*projections.ProofReceipts, error) {
	found := &projections.ProofReceipts{Short: []string{}}
	for _, a := range answers {
		found.Batches++
		found.Accepted += a.Accepted
		n := counted[a.Batch]
		if n != a.Accepted {
			var err error
			if n, err = a.InLog(ctx, c.portal.log); err != nil {
				return found, fmt.Errorf("looking for batch %x where its receipt says: %w", a.Batch, err)
			}
		}
		found.InLog += n
		if n != a.Accepted && len(found.Short) < shortShown {
			found.Short = append(found.Short, fmt.Sprintf("batch %s: %d events were accepted, the log has %d", hex.EncodeToString(a.Batch[:]), a.Accepted, n))
		}
	}
	return found, nil
}
