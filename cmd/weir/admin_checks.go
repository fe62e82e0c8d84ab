package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"weir/internal/httpapi"
	"weir/projections"
)

// checkItem is a verification or proof under way, or the last one of its name.
type checkItem[R any] struct {
	State     string    `json:"state"` // running, done, failed
	StartedAt time.Time `json:"started_at"`
	Folded    int64     `json:"folded"` // records of Of
	Of        int64     `json:"of"`
	Failure   string    `json:"failure,omitempty"`
	// Result is there once the state is done.
	Result *R `json:"result,omitempty"`
}

const (
	checkRunning = "running"
	checkDone    = "done"
	checkFailed  = "failed"

	// checkTold is how often a running check tells how far it is, and checkSilent after
	// how long without a word the process that ran it has ended.
	checkTold   = 3 * time.Second
	checkSilent = 30 * time.Second
)

// checks runs them, one at a time for each kind and name, and keeps what they found in ClickHouse,
// so that every reader can tell, and a restart forgets nothing.
type checks struct {
	portal *portal
	tool   *projections.Projector // never run: it only checks
	kept   projections.Checks

	begun chan func(context.Context)
	mu    sync.Mutex
	last  map[checkName]*checkRun
}

type checkName struct{ kind, name string }

// checkRun is one that this process runs or has run.
type checkRun struct {
	id   string
	item checkItem[any]
}

const checkConns = 8

func (p *portal) newChecks() (*checks, error) {
	conn, err := p.patientPool(checkConns, projections.AnswerTimeout)
	if err != nil {
		return nil, err
	}
	tool, err := projections.New(projections.Config{
		Log: p.log, ClickHouse: conn, Blocks: p.blockPool(), Projections: p.projections(), Tables: p.tableOptions(), Logger: p.logger,
	})
	if err != nil {
		return nil, err
	}
	c := &checks{portal: p, tool: tool, kept: projections.Checks{ClickHouse: conn, Tables: p.tableOptions()},
		begun: make(chan func(context.Context)), last: map[checkName]*checkRun{}}
	p.run("checks", c.loop)
	return c, nil
}

// loop runs what is begun, and waits for it when the server stops.
func (c *checks) loop(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		select {
		case run := <-c.begun:
			running.Go(func() { run(ctx) })
		case <-ctx.Done():
			return nil
		}
	}
}

// work does a check and tells how far it is.
type work func(ctx context.Context, progress func(done, of int64)) (any, error)

// post begins a check unless one of that name runs here, and answers with it.
func (c *checks) post(w http.ResponseWriter, r *http.Request, of checkName, do work) {
	item, run := c.begin(of, do)
	if run != nil {
		c.tell(r.Context(), of)
		select {
		case c.begun <- run:
		case <-r.Context().Done(): // the server stops
			httpapi.WriteError(w, r, r.Context().Err())
			return
		}
	}
	httpapi.WriteJSON(w, http.StatusAccepted, item)
}

func (c *checks) begin(of checkName, do work) (checkItem[any], func(context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.last[of]; now != nil && now.item.State == checkRunning {
		return now.item, nil
	}
	started := time.Now().UTC()
	begun := &checkRun{id: started.Format("20060102T150405.000000000") + "-" + rand.Text()[:6], item: checkItem[any]{State: checkRunning, StartedAt: started}}
	c.last[of] = begun
	return begun.item, func(ctx context.Context) { c.run(ctx, of, begun, do) }
}

func (c *checks) run(ctx context.Context, of checkName, begun *checkRun, do work) {
	telling, stop := context.WithCancel(ctx)
	var told sync.WaitGroup
	told.Go(func() {
		every := time.NewTicker(checkTold)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				c.tell(telling, of)
			case <-telling.Done():
				return
			}
		}
	})
	result, err := do(ctx, func(done, all int64) {
		c.mu.Lock()
		defer c.mu.Unlock()
		begun.item.Folded, begun.item.Of = done, all
	})
	stop()
	told.Wait()
	c.mu.Lock()
	begun.item.State, begun.item.Folded = checkDone, begun.item.Of
	if err != nil {
		begun.item.State, begun.item.Failure = checkFailed, err.Error()
		c.portal.logger.Error("a check failed", "kind", of.kind, "name", of.name, "error", err)
	} else {
		begun.item.Result = &result
	}
	c.mu.Unlock()
	c.tell(context.WithoutCancel(ctx), of)
}

// tell keeps how far this process's check is.
func (c *checks) tell(ctx context.Context, of checkName) {
	c.mu.Lock()
	now := *c.last[of]
	c.mu.Unlock()
	body, err := json.Marshal(now.item)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, checkTold)
		defer cancel()
		err = c.kept.Save(ctx, of.kind, of.name, projections.Check{ID: now.id, State: now.item.State, Body: body})
	}
	if err != nil && ctx.Err() == nil {
		c.portal.logger.Warn("how far a check is could not be kept; only this process can tell", "kind", of.kind, "name", of.name, "error", err)
	}
}

// get answers with the newest check of a name, whichever process ran it.
func (c *checks) get(w http.ResponseWriter, r *http.Request, of checkName) {
	c.mu.Lock()
	var own checkRun
	if last := c.last[of]; last != nil {
		own = *last
	}
	c.mu.Unlock()
	if own.item.State == checkRunning {
		httpapi.WriteJSON(w, http.StatusOK, own.item)
		return
	}
	kept, found, err := c.kept.Last(r.Context(), of.kind, of.name)
	switch {
	case found && kept.ID > own.id:
		item := checkItem[json.RawMessage]{}
		if err := json.Unmarshal(kept.Body, &item); err != nil {
			httpapi.WriteError(w, r, err)
			return
		}
		if item.State == checkRunning && kept.Silent > checkSilent {
			item.State, item.Failure = checkFailed, "the process that ran it has ended"
		}
		httpapi.WriteJSON(w, http.StatusOK, item)
	case own.id != "":
		httpapi.WriteJSON(w, http.StatusOK, own.item)
	case err != nil:
		httpapi.WriteError(w, r, httpapi.Errorf(httpapi.CodeNoReadModel, "ClickHouse, which keeps the results, does not answer").Because(err).After(5*time.Second))
	default:
		httpapi.WriteError(w, r, httpapi.NotFound(of.kind+" of it; begin one with POST"))
	}
}
