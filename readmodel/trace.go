package readmodel

import (
	"encoding/json"
	"net/http"

	"weir/internal/httpapi"
	"weir/readmodel/tables"
)

// TraceQuery reads one page of a trace's spans, earliest first, which is the
// order a waterfall is drawn in.
//
// Spans of a trace lie close in time but nothing says when, so the index
// by_trace of the table leads to them, in every spelling the id can have in
// JSON text; then the event's own traceId decides.
type TraceQuery struct {
	Project string // "": every project
	TraceID string
	After   *eventKey
	Limit   int
}

func (q TraceQuery) statement() Statement {
	var b builder
	b.equal("project_id", q.Project)
	b.where("type = 'trace'")
	b.where("hasAny(" + tables.TraceIDs + ", " + b.texts(spellings(q.TraceID)) + ")")
	b.where("JSONExtractString(data, 'traceId') = " + b.text(q.TraceID))
	if q.After != nil {
		b.where("(ts, event_id) > (fromUnixTimestamp64Nano(" + b.arg("Int64", q.After.TS) + ", 'UTC'), " + b.eventID(q.After.ID) + ")")
	}
	return b.events("at, id", "ts, event_id", q.Limit)
}

const maxTraceID = 256

func (rd *Reader) trace(w http.ResponseWriter, r *http.Request) error {
	p, err := parseParams(r, "project_id", "cursor", "limit")
	if err != nil {
		return err
	}
	project, err := rd.walls(r)
	if err != nil {
		return err
	}
	q := TraceQuery{Project: project, TraceID: pathValue(r, "traceId"), Limit: p.Limit()}
	list := listName("trace", q.Project+"/"+q.TraceID)
	q.After = p.eventCursor(list)
	if err := p.err(); err != nil {
		return err
	}
	if q.TraceID == "" || len(q.TraceID) > maxTraceID {
		return httpapi.NotFound("trace")
	}
	var page eventPage
	if err := rd.query(r.Context(), "trace", q.statement(), page.scan); err != nil {
		return err
	}
	if len(page.events) == 0 && q.After == nil {
		return httpapi.NotFound("trace")
	}
	next, err := page.finish(list, q.Limit)
	if err != nil {
		return err
	}
	id, _ := json.Marshal(q.TraceID)
	writeBody(w, eventsBody(`"trace_id":`+string(id)+`,`, page.events, next))
	return nil
}
