package readmodel

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/internal/httpapi"
)

// deliveryItem is a delivery as the API shows it; what is not known is null.
type deliveryItem struct {
	ID             string  `json:"id"`
	ProjectID      string  `json:"project_id"`
	EndpointID     *string `json:"endpoint_id"`
	Destination    *string `json:"destination"`
	URL            *string `json:"url"`
	EventType      *string `json:"event_type"`
	Status         string  `json:"status"`
	AttemptCount   int64   `json:"attempt_count"`
	LastStatusCode *int32  `json:"last_status_code"`
	FirstAttemptAt *nanos  `json:"first_attempt_at"`
	LastAttemptAt  *nanos  `json:"last_attempt_at"`
	created        int64
}

func scanDelivery(rows driver.Rows, d *deliveryItem) error {
	var first, last *int64
	var endpoint, destination, url, eventType string
	var code int32
	err := rows.Scan(&d.ProjectID, &d.ID, &d.created, &d.AttemptCount, &first, &last,
		&endpoint, &destination, &url, &eventType, &d.Status, &code)
	d.FirstAttemptAt, d.LastAttemptAt = (*nanos)(first), (*nanos)(last)
	d.EndpointID, d.Destination, d.URL, d.EventType = orNull(endpoint), orNull(destination), orNull(url), orNull(eventType)
	if code != 0 {
		d.LastStatusCode = &code
	}
	return err
}

func (rd *Reader) listDeliveries(w http.ResponseWriter, r *http.Request) error {
	p, err := parseParams(r, "project_id", "endpoint_id", "status", "cursor", "limit")
	if err != nil {
		return err
	}
	project, err := rd.project(r)
	if err != nil {
		return err
	}
	q := DeliveriesQuery{Project: project, Endpoint: p.String("endpoint_id", maxID), Statuses: p.List("status", deliveryStatuses...), Limit: p.Limit()}
	list := listName("deliveries", []any{q.Project, q.Endpoint, q.Statuses})
	var after deliveryKey
	if p.Cursor(list, &after) {
		q.After = &after
	}
	if err := p.err(); err != nil {
		return err
	}
	var items []deliveryItem
	err = rd.query(r.Context(), "deliveries", q.statement(), func(rows driver.Rows) error {
		var d deliveryItem
		err := scanDelivery(rows, &d)
		items = append(items, d)
		return err
	})
	next := ""
	if err == nil && len(items) > q.Limit {
		items = items[:q.Limit]
		last := &items[q.Limit-1]
		next, err = httpapi.EncodeCursor(list, deliveryKey{last.created, last.ID})
	}
	return writePage(w, items, next, err)
}

const maxID = 256

// deliveryDetail is the answer of GET /api/webhooks/deliveries/{id}.
type deliveryDetail struct {
	deliveryItem
	Attempts []attemptItem `json:"attempts"` // the first one first
}

type attemptItem struct {
	Number          uint32          `json:"number"`
	Status          string          `json:"status"`
	StatusCode      *int32          `json:"status_code"`
	Failure         *string         `json:"failure"`
	StartedAt       nanos           `json:"started_at"`
	DurationMS      float64         `json:"duration_ms"`
	KeyID           *string         `json:"key_id"`
	EndpointVersion *uint32         `json:"endpoint_version"`
	RequestHeaders  json.RawMessage `json:"request_headers"`
	ResponseHeaders json.RawMessage `json:"response_headers"`
	ResponseBody    *string         `json:"response_body"`
}

func scanAttempt(rows driver.Rows, a *attemptItem) error {
	var id, failure, key, request, response, body string
	var code int32
	var version uint32
	var matched uint64
	err := rows.Scan(&a.Number, (*int64)(&a.StartedAt), &id, &a.Status, &code, &failure, &a.DurationMS,
		&key, &version, &request, &response, &body, &matched)
	if code != 0 {
		a.StatusCode = &code
	}
	if version != 0 {
		a.EndpointVersion = &version
	}
	a.Failure, a.KeyID, a.ResponseBody = orNull(failure), orNull(key), orNull(body)
	a.RequestHeaders, a.ResponseHeaders = rawJSON(request), rawJSON(response)
	return err
}

func (rd *Reader) delivery(w http.ResponseWriter, r *http.Request) error {
	if _, err := parseParams(r, "project_id"); err != nil {
		return err
	}
	project, err := rd.walls(r)
	if err != nil {
		return err
	}
	id := pathValue(r, "id")
	if id == "" || len(id) > maxID {
		return httpapi.NotFound("delivery")
	}
	d := deliveryDetail{Attempts: []attemptItem{}}
	err = rd.query(r.Context(), "delivery", DeliveryQuery{project, id}.statement(), func(rows driver.Rows) error {
		return scanDelivery(rows, &d.deliveryItem)
	})
	if err == nil && d.ID == "" {
		err = httpapi.NotFound("delivery")
	}
	if err != nil {
		return err
	}
	err = rd.query(r.Context(), "attempts", AttemptsQuery{d.ProjectID, d.ID}.statement(), func(rows driver.Rows) error {
		var a attemptItem
		err := scanAttempt(rows, &a)
		d.Attempts = append(d.Attempts, a)
		return err
	})
	if err != nil {
		return err
	}
	slices.Reverse(d.Attempts)
	httpapi.WriteJSON(w, http.StatusOK, d)
	return nil
}
