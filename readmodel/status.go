package readmodel

import (
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
	"weir/schemas"
)

// Health of a module.
type Health string

// The values of Health. Only down is answered with 503.
const (
	OK       Health = "ok"
	Degraded Health = "degraded" // it works, but late or not wholly
	Down     Health = "down"
)

// ModuleStatus is how a module fares.
type ModuleStatus struct {
	Health      Health
	LagRecords  int64         // records in the log that are not folded yet
	Lag         time.Duration // age of the oldest of them; 0 when there is none
	LastEventAt time.Time     // when the latest event of the module was received; zero: none yet
	Generation  int           // of the projection that serves the module; 0: none
	Lane        *LaneStatus   // of the module webhooks; nil: not known
}

// LaneStatus is what the webhook lane has still to do.
type LaneStatus struct {
	OwedRecords       int64   `json:"owed_records"`
	WaitingDeliveries int64   `json:"waiting_deliveries"`
	OldestSeconds     float64 `json:"oldest_owed_seconds"`
}

// Monitor knows how modules fare. Safe for concurrent use; it must answer at
// once, from what was last observed.
type Monitor interface {
	// Module reports on a module by its name: schemas.Type.Module or "ingest".
	Module(name string) ModuleStatus
}

// Modules lists the modules that have a status: those of the 13 event types, and ingest.
func Modules() []string {
	names := []string{"ingest"}
	for _, t := range schemas.Types() {
		names = append(names, t.Module())
	}
	return names
}

// statusItem is the answer of GET /api/{module}/status.
type statusItem struct {
	Module      string     `json:"module"`
	Status      Health     `json:"status"`
	LagRecords  int64      `json:"lag_records"`
	LagSeconds  float64    `json:"lag_seconds"`
	LastEventAt *time.Time `json:"last_event_at"`
	Generation  int        `json:"generation"`

	Lane *LaneStatus `json:"lane,omitempty"`
}

func (rd *Reader) statusRoutes(r chi.Router) {
	for _, module := range Modules() {
		r.Get("/api/"+module+"/status", func(w http.ResponseWriter, _ *http.Request) { rd.status(w, module) })
	}
}

func (rd *Reader) status(w http.ResponseWriter, module string) {
	s := ModuleStatus{Health: Down}
	if rd.cfg.Modules != nil {
		s = rd.cfg.Modules.Module(module)
	}
	item := statusItem{Module: module, Status: s.Health, LagRecords: s.LagRecords, LagSeconds: s.Lag.Seconds(), Generation: s.Generation, Lane: s.Lane}
	if !s.LastEventAt.IsZero() {
		at := s.LastEventAt.UTC()
		item.LastEventAt = &at
	}
	code := http.StatusOK
	if s.Health == Down {
		code = http.StatusServiceUnavailable
	}
	httpapi.WriteJSON(w, code, item)
}
