package main

import (
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"

	"weir/control"
	"weir/ingest"
	"weir/ingest/limits"
	"weir/ingest/rejections"
	"weir/internal/httpapi"
)

// startIngest wires the gateway: it looks callers up in the Directory and appends to the log.
func (p *portal) startIngest(r chi.Router) error {
	p.boundMemory()
	limiter, err := p.limiter()
	if err != nil {
		return err
	}
	told := rejections.New(rejections.Config{Log: p.log, Logger: p.logger, Registerer: p.registry})
	p.run("rejections", told.Run)
	gateway, err := ingest.New(ingest.Config{
		Limiter:    limiter,
		Rejections: told,

		Log:       p.log,
		Directory: callers{p.directory},
		Gateway:   p.gateway(),
		Rates: limits.Rates{
			EventsPerSecond:  p.cfg.EventsPerSecond,
			BatchesPerSecond: p.cfg.BatchesPerSecond,
		},
		MaxBatchBytes: int(p.cfg.BatchBytes),
		BytesInFlight: p.bodiesInFlight(),
		Outside:       p.connMemory,
		Logger:        p.logger,
		Registerer:    p.registry,
	})
	if err != nil {
		return err
	}
	p.run("receipts", gateway.Run)
	p.ingestReady = func() error { return errors.Join(gateway.Ready(), limiterReady(limiter)) }
	p.ready.add("ingest", p.ingestReady)
	p.drain = append(p.drain, gateway.Drain)
	r.Method("POST", ingestRoute, gateway) // for the answers to other methods
	p.ingestDoor = p.observer.Only("POST", ingestRoute, gateway)
	r.Method("POST", "/api/errors/capture", gateway.Capture(capturedGroup(p.algorithm())))
	return nil
}

const ingestRoute = "/api/ingest"

// isBatch says whether the gateway answers. A path that is written in another way is none, as for the router.
func isBatch(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Path == ingestRoute && r.URL.RawPath == ""
}

// batchesFirst takes batches past the router, which for a small one costs as much as its checks.
func batchesFirst(door, routes http.Handler) http.Handler {
	if door == nil {
		return routes
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isBatch(r) {
			door.ServeHTTP(w, r)
			return
		}
		routes.ServeHTTP(w, r)
	})
}

// limiter holds projects to their rates: over all gateways together, unless there can be only this one.
func (p *portal) limiter() (ingest.Limiter, error) {
	if len(p.cfg.KafkaBrokers) == 0 {
		return limits.New(), nil
	}
	shared, err := limits.NewShared(limits.SharedConfig{Log: p.log, Gateway: p.gateway(), Logger: p.logger, Registerer: p.registry})
	if err != nil {
		return nil, err
	}
	p.run("limits", shared.Run)
	return shared, nil
}

func limiterReady(l ingest.Limiter) error {
	if shared, ok := l.(*limits.Shared); ok && !shared.Ready() {
		return errors.New("limits: still reading what other gateways told of the projects' rates")
	}
	return nil
}

// callers shows the Directory to the gateway as it wants to see it.
type callers struct{ directory *control.Directory }

// Lookup finds the project behind a bearer. The admin token has no project to ingest into.
func (c callers) Lookup(bearer string) (ingest.Caller, bool) {
	found, ok := c.directory.Lookup(bearer)
	if !ok || found.Admin {
		return ingest.Caller{}, false
	}
	return ingest.Caller{
		ProjectID:        found.ProjectID,
		KeyID:            found.KeyID,
		MayIngest:        found.Principal().Can(httpapi.ScopeIngest),
		Secret:           found.SigningKey(),
		EventsPerSecond:  optional(found.Limits.EventsPerSecond),
		BatchesPerSecond: optional(found.Limits.BatchesPerSecond),
		BatchBytes:       batchBytes(found.Limits.BatchBytes),
	}, true
}

func batchBytes(l control.Limit) *int64 {
	if !l.Set {
		return nil
	}
	return &l.N
}

func optional(l control.Limit) *int {
	if !l.Set {
		return nil
	}
	n := int(l.N)
	return &n
}
