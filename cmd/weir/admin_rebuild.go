package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/eventlog"
	"weir/internal/httpapi"
	"weir/projections"
	"weir/readmodel/tables"
)

// What POST /api/projections/{name}/rebuild does.
const (
	rebuildStart    = "start"
	rebuildCancel   = "cancel"
	rebuildRollback = "rollback"
	rebuildDropOld  = "drop_old"
	rebuildDryRun   = "dry_run"
)

// rebuildRequest is the body of that endpoint; all of it may be left out.
type rebuildRequest struct {
	Action string `json:"action"`
	Accept bool   `json:"accept"` // swap even if the new tables differ from the live ones
}

// rebuildAnswer is its answer. Every action may be asked for twice.
type rebuildAnswer struct {
	Projection string `json:"projection"`
	Action     string `json:"action"`
	Generation int    `json:"generation,omitempty"` // that is built, canceled or comes back
	Dropped    []int  `json:"dropped,omitempty"`
	// Of a dry run: what a rebuild would read.
	Records int64    `json:"records,omitempty"`
	Topics  []string `json:"topics,omitempty"`
}

// rebuildItem is the rebuild in GET /api/projections.
type rebuildItem struct {
	Generation   int       `json:"generation"`
	Version      int       `json:"version"`
	State        string    `json:"state"` // building, swapping, differing
	Since        time.Time `json:"since"`
	Rollback     bool      `json:"rollback"`
	Done         int64     `json:"done"`
	Total        int64     `json:"total"`
	PerSecond    float64   `json:"records_per_second"`
	SecondsLeft  float64   `json:"seconds_left"` // 0: not known
	WhatDiffers  string    `json:"what_differs,omitempty"`
	WillBeTaken  bool      `json:"accepted"`
	RecordsLeft  int64     `json:"records_left"`
	PercentReady float64   `json:"percent"`
}

func newRebuildItem(r *projections.RebuildProgress) *rebuildItem {
	if r == nil {
		return nil
	}
	item := &rebuildItem{
		Generation: r.Generation, Version: r.Version, State: string(r.State), Since: r.Since, Rollback: r.Rollback,
		Done: r.Done, Total: r.Total, PerSecond: r.Rate, SecondsLeft: r.Left.Seconds(), WhatDiffers: r.Note, WillBeTaken: r.Accept,
		RecordsLeft: r.Total - r.Done, PercentReady: 100,
	}
	if r.Total > 0 {
		item.PercentReady = 100 * float64(r.Done) / float64(r.Total)
	}
	return item
}

// rebuilds writes wishes with the read role's connections; projectors, here or elsewhere, carry them out.
func (p *portal) rebuilds() projections.Rebuilds {
	return projections.Rebuilds{Log: p.log, ClickHouse: p.tables, Projections: p.projections(), Tables: p.tableOptions()}
}

// tableOptions: the child's data is the only copy there is; a server's durability is its operator's choice.
func (p *portal) tableOptions() tables.Options {
	partitions := 0 // of the history, which folds the most
	for _, topic := range eventlog.EventsTopics() {
		partitions += p.log.Partitions(topic)
	}
	return tables.Options{Fsync: p.engine != nil, DeduplicationWindow: projections.TokenWindow(partitions)}
}

// projectionRoutes are the admin's wishes about read models; the caller has checked that it is the admin.
func (p *portal) projectionRoutes(r chi.Router) error {
	checks, err := p.newChecks()
	if err != nil {
		return err
	}
	r.Post("/api/projections/{name}/rebuild", p.postRebuild)
	r.Post("/api/projections/{name}/verify", checks.postVerify)
	r.Get("/api/projections/{name}/verify", checks.getVerify)
	r.Post("/api/projections/{name}/quarantine/retry", p.postRetry)
	r.Get("/api/projections/{name}/quarantine/retry", p.getRetry)
	r.Post("/api/projects/{id}/prove", checks.postProve)
	r.Get("/api/projects/{id}/prove", checks.getProve)
	return nil
}

func (p *portal) postRebuild(w http.ResponseWriter, r *http.Request) {
	in := rebuildRequest{Action: rebuildStart}
	if r.ContentLength != 0 {
		if err := httpapi.DecodeJSON(w, r, 4<<10, &in); err != nil {
			httpapi.WriteError(w, r, err)
			return
		}
	}
	if in.Action == "" {
		in.Action = rebuildStart
	}
	answer, err := p.rebuild(r.Context(), chi.URLParam(r, "name"), in)
	if err != nil {
		httpapi.WriteError(w, r, rebuildError(err))
		return
	}
	status := http.StatusAccepted
	if in.Action == rebuildDryRun || in.Action == rebuildDropOld {
		status = http.StatusOK
	}
	httpapi.WriteJSON(w, status, answer)
}

func (p *portal) rebuild(ctx context.Context, name string, in rebuildRequest) (a rebuildAnswer, err error) {
	a = rebuildAnswer{Projection: name, Action: in.Action}
	wishes := p.rebuilds()
	switch in.Action {
	case rebuildStart:
		a.Generation, err = wishes.Ask(ctx, name, in.Accept)
	case rebuildCancel:
		a.Generation, err = wishes.Cancel(ctx, name)
	case rebuildRollback:
		a.Generation, err = wishes.Rollback(ctx, name)
	case rebuildDropOld:
		a.Dropped, err = wishes.DropOld(ctx, name)
	case rebuildDryRun:
		a.Topics, a.Records, err = p.wouldRead(ctx, name)
	default:
		err = httpapi.FieldErrors(httpapi.ParamProblem{Name: "action", Reason: "must be start, cancel, rollback, drop_old or dry_run"})
	}
	return a, err
}

// wouldRead is what a rebuild reads: every record of the projection's topics.
func (p *portal) wouldRead(ctx context.Context, name string) (topics []string, records int64, err error) {
	for _, projection := range p.projections() {
		if projection.Name == name {
			topics = projection.Topics
		}
	}
	if topics == nil {
		return nil, 0, projections.ErrUnknownProjection
	}
	for _, topic := range topics {
		bounds, err := p.log.Bounds(ctx, topic)
		if err != nil {
			return nil, 0, err
		}
		for _, b := range bounds {
			records += b.End - b.Start
		}
	}
	return topics, records, nil
}

// rebuildError says how the errors of wishes are answered.
func rebuildError(err error) error {
	switch {
	case errors.Is(err, projections.ErrUnknownProjection):
		return httpapi.NotFound("projection").Because(err)
	case errors.Is(err, projections.ErrNoTables), errors.Is(err, projections.ErrNoRebuild),
		errors.Is(err, projections.ErrNothingKept), errors.Is(err, projections.ErrBusy):
		return httpapi.Errorf(httpapi.CodeConflict, "%v", err)
	case errors.Is(err, eventlog.ErrUnavailable):
		return httpapi.Errorf(httpapi.CodeUnavailable, "the log does not answer").Because(err).After(5 * time.Second)
	}
	var known *httpapi.Error
	if errors.As(err, &known) {
		return err
	}
	return httpapi.Errorf(httpapi.CodeNoReadModel, "ClickHouse did not take it; retry").Because(err).After(5 * time.Second)
}
