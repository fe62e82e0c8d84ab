package main

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
	"weir/projections"
)

// retryRequest is the body of POST /api/projections/{name}/quarantine/retry: which records to fold again.
// What is left out chooses all.
type retryRequest struct {
	Topic     string `json:"topic"`
	Partition *int   `json:"partition"`
	Offset    *int64 `json:"offset"`
	ProjectID string `json:"project_id"`
	Reason    string `json:"reason"` // a part of it
}

// retryAnswer is its answer, and without what was asked for that of the GET.
type retryAnswer struct {
	Projection string `json:"projection"`
	AskedFor   int64  `json:"asked_for"` // by this request
	projections.RetryCounts
}

func (p *portal) postRetry(w http.ResponseWriter, r *http.Request) {
	var in retryRequest
	if r.ContentLength != 0 {
		if err := httpapi.DecodeJSON(w, r, 16<<10, &in); err != nil {
			httpapi.WriteError(w, r, err)
			return
		}
	}
	answer := retryAnswer{Projection: chi.URLParam(r, "name")}
	filter := projections.RetryFilter{Topic: in.Topic, Partition: in.Partition, Offset: in.Offset, Project: in.ProjectID, Reason: in.Reason}
	asked, err := p.rebuilds().Retry(r.Context(), answer.Projection, filter)
	if err == nil {
		answer.AskedFor = asked
		answer.RetryCounts, err = p.rebuilds().Retries(r.Context(), answer.Projection)
	}
	if err != nil {
		httpapi.WriteError(w, r, rebuildError(err))
		return
	}
	p.logger.Info("records in quarantine are to be retried", "projection", answer.Projection, "records", asked)
	httpapi.WriteJSON(w, http.StatusAccepted, answer)
}

func (p *portal) getRetry(w http.ResponseWriter, r *http.Request) {
	answer := retryAnswer{Projection: chi.URLParam(r, "name")}
	var err error
	if answer.RetryCounts, err = p.rebuilds().Retries(r.Context(), answer.Projection); err != nil {
		httpapi.WriteError(w, r, rebuildError(err))
		return
	}
	httpapi.WriteJSON(w, http.StatusOK, answer)
}
