package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
	"weir/projections"
)

// verifyItem is a verification under way or the last one of a projection.
type verifyItem struct {
	State     string    `json:"state"` // running, done, failed
	StartedAt time.Time `json:"started_at"`
	Folded    int64     `json:"folded"` // records of Of
	Of        int64     `json:"of"`
	Failure   string    `json:"failure,omitempty"`
	// Result is there once the state is done.
	Result *projections.Verification `json:"result,omitempty"`
}

// verifications runs them one at a time for each projection. They are questions, not state: what
// a process knows of them ends with it.
type verifications struct {
	portal *portal
	tool   *projections.Projector // never run: it only verifies

	begun chan func(context.Context)
	mu    sync.Mutex
	last  map[string]*verifyItem
}

const verifyConns = 8

func (p *portal) newVerifications() (*verifications, error) {
	conn, err := p.patientPool(verifyConns, projections.AnswerTimeout)
	if err != nil {
		return nil, err
	}
	tool, err := projections.New(projections.Config{
		Log: p.log, ClickHouse: conn, Projections: allProjections(), Tables: p.tableOptions(), Logger: p.logger,
	})
	if err != nil {
		return nil, err
	}
	v := &verifications{portal: p, tool: tool, begun: make(chan func(context.Context)), last: map[string]*verifyItem{}}
	p.run("verifications", v.loop)
	return v, nil
}

// loop runs what is begun, and waits for it when the server stops.
func (v *verifications) loop(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		select {
		case run := <-v.begun:
			running.Go(func() { run(ctx) })
		case <-ctx.Done():
			return nil
		}
	}
}

func (v *verifications) post(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "name")
	if _, err := v.portal.monitor.Progress(name); err != nil {
		httpapi.WriteError(w, r, rebuildError(err))
		return
	}
	item, run := v.begin(name)
	if run != nil {
		select {
		case v.begun <- run:
		case <-r.Context().Done(): // the server stops
			httpapi.WriteError(w, r, r.Context().Err())
			return
		}
	}
	httpapi.WriteJSON(w, http.StatusAccepted, item)
}

// begin makes a verification, and what runs it unless one is running.
func (v *verifications) begin(name string) (verifyItem, func(context.Context)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now := v.last[name]; now != nil && now.State == "running" {
		return *now, nil
	}
	item := &verifyItem{State: "running", StartedAt: time.Now().UTC()}
	v.last[name] = item
	return *item, func(ctx context.Context) { v.run(ctx, name, item) }
}

func (v *verifications) run(ctx context.Context, name string, item *verifyItem) {
	result, err := v.tool.Verify(ctx, name, func(folded, of int64) {
		v.mu.Lock()
		defer v.mu.Unlock()
		item.Folded, item.Of = folded, of
	})
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		item.State, item.Failure = "failed", err.Error()
		v.portal.logger.Error("a verification failed", "projection", name, "error", err)
		return
	}
	item.State, item.Result, item.Folded, item.Of = "done", &result, result.Records, result.Records
	if !result.Equal {
		v.portal.logger.Error("read model differs from the log", "projection", name, "differences", result.Differences.String())
	}
}

func (v *verifications) get(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	item, ok := v.last[chi.URLParam(r, "name")]
	var copied verifyItem
	if ok {
		copied = *item
	}
	v.mu.Unlock()
	if !ok {
		httpapi.WriteError(w, r, httpapi.NotFound("verification since this server started; begin one with POST"))
		return
	}
	httpapi.WriteJSON(w, http.StatusOK, copied)
}
