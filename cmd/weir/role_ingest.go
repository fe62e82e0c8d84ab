package main

import (
	"github.com/go-chi/chi/v5"

	"weir/control"
	"weir/ingest"
	"weir/ingest/limits"
	"weir/internal/httpapi"
)

// startIngest wires the gateway: it looks callers up in the Directory and appends to the log.
func (p *portal) startIngest(r chi.Router) error {
	gateway, err := ingest.New(ingest.Config{
		Log:       p.log,
		Directory: callers{p.directory},
		Gateway:   p.gateway(),
		Rates: limits.Rates{
			EventsPerSecond:  p.cfg.EventsPerSecond,
			BatchesPerSecond: p.cfg.BatchesPerSecond,
		},
		MaxBatchBytes: int(p.cfg.BatchBytes),
		BytesInFlight: p.cfg.BytesInFlight,
		Logger:        p.logger,
		Registerer:    p.registry,
	})
	if err != nil {
		return err
	}
	p.run("receipts", gateway.Run)
	p.ingestReady = gateway.Ready
	p.ready.add("ingest", gateway.Ready)
	p.drain = append(p.drain, gateway.Drain)
	r.Method("POST", "/api/ingest", gateway)
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
	}, true
}

func optional(l control.Limit) *int {
	if !l.Set {
		return nil
	}
	n := int(l.N)
	return &n
}
