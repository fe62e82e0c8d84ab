package main

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/httpapi"
)

// readiness gathers what keeps the server from being ready. Safe for concurrent use.
type readiness struct {
	mu     sync.Mutex
	step   string // of start or stop; "" while serving
	checks []check
}

type check struct {
	name string
	ok   func() error
}

func newReadiness() *readiness { return &readiness{step: "start"} }

func (r *readiness) starting(step string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step = step
}

// add makes readiness depend on ok, which must be quick.
func (r *readiness) add(name string, ok func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checks = append(r.checks, check{name, ok})
}

// missing lists what is not ready, in words; empty when everything is.
func (r *readiness) missing() []string {
	r.mu.Lock()
	step, checks := r.step, slices.Clone(r.checks)
	r.mu.Unlock()
	if step != "" {
		return []string{"step under way: " + step}
	}
	var missing []string
	for _, c := range checks {
		if err := c.ok(); err != nil {
			missing = append(missing, c.name+": "+err.Error())
		}
	}
	return missing
}

// live answers GET /livez: the process runs.
func live(w http.ResponseWriter, _ *http.Request) {
	httpapi.WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// ServeHTTP answers GET /readyz: 200 when requests can be taken, 503 with what is missing.
func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	status, answer := http.StatusOK, map[string]any{"status": "ok"}
	if missing := r.missing(); len(missing) > 0 {
		status, answer = http.StatusServiceUnavailable, map[string]any{"status": "not ready", "missing": missing}
	}
	httpapi.WriteJSON(w, status, answer)
}

// switchHandler answers from the moment the port is taken: health always, everything else
// with a 503 until the routes are there.
type switchHandler struct {
	early  http.Handler
	routes atomic.Pointer[http.Handler]
}

func newSwitchHandler(ready *readiness) *switchHandler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", live)
	mux.Handle("GET /readyz", ready)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		httpapi.WriteError(w, r, httpapi.Errorf(httpapi.CodeUnavailable, "the server is starting; ask again in a moment").After(time.Second))
	})
	return &switchHandler{early: mux}
}

func (s *switchHandler) use(h http.Handler) { s.routes.Store(&h) }

func (s *switchHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := s.routes.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	s.early.ServeHTTP(w, r)
}
