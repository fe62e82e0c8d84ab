package main

import (
	"encoding/json"
	"net/http"
	"time"

	"weir/internal/httpapi"
	"weir/projections/errorgroups"
	"weir/projections/errorgroups/grouping"
)

// previewStep is one line of the answer of GET /api/errors/preview.
type previewStep struct {
	Events int64                `json:"events"`
	Of     int64                `json:"of"`
	Result *errorgroups.Preview `json:"result,omitempty"` // of the last line
	Error  string               `json:"error,omitempty"`  // instead of a result
}

// previewLines is how often a line is written.
const previewLines = 500 * time.Millisecond

// getPreview answers GET /api/errors/preview?algorithm=N[&project_id=][&limit=]: it groups the
// whole log by the algorithm that is served and by N, and changes nothing. One at a time: it takes a core.
func (p *portal) getPreview(w http.ResponseWriter, r *http.Request) {
	q := httpapi.NewParams(r.URL.Query())
	to, limit := q.Int("algorithm", p.cfg.ErrorsAlgorithm, 1, 1<<16), q.Int("limit", 20, 0, 1000)
	project := q.String("project_id", 256)
	version, err := grouping.Lookup(to)
	if err != nil {
		q.Bad("algorithm", err.Error())
	}
	if err := q.Err(); err != nil {
		httpapi.WriteError(w, r, err)
		return
	}
	if !p.previewing.TryLock() {
		httpapi.WriteError(w, r, httpapi.Errorf(httpapi.CodeConflict, "a preview is under way: wait for its end"))
		return
	}
	defer p.previewing.Unlock()
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	lines, conn, last := json.NewEncoder(w), http.NewResponseController(w), time.Time{}
	result, err := errorgroups.Compare(r.Context(), p.log, p.algorithm(), version, project, limit, func(done, of int64) {
		if time.Since(last) >= previewLines {
			last = time.Now()
			_ = lines.Encode(previewStep{Events: done, Of: of}) // a client that left ends the request's context
			_ = conn.Flush()
		}
	})
	step := previewStep{Events: int64(result.Events), Of: int64(result.Events), Result: &result}
	if err != nil {
		p.logger.Warn("a preview of another grouping algorithm failed", "error", err)
		step = previewStep{Error: "the log could not be read to its end; look into the server's log and try again"}
	}
	_ = lines.Encode(step)
}
