package readmodel

import (
	"encoding/json"
	"net/http"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/internal/httpapi"
)

// FeedQuery reads one page of what was delivered to a project's internal endpoints,
// newest first. What was asked for again is there again.
type FeedQuery struct {
	Project  string
	Endpoint string   // "": every endpoint
	Events   []string // event types, any of them; none: all
	After    *deliveryKey
	Limit    int
}

func (q FeedQuery) statement() Statement {
	var b builder
	b.where("project_id = " + b.text(q.Project))
	b.where("destination = 'internal' AND status = 'succeeded' AND payload != ''")
	b.equal("endpoint_id", q.Endpoint)
	if len(q.Events) > 0 {
		b.where("event_type IN " + b.texts(q.Events))
	}
	if q.After != nil {
		b.where("(at, delivery_id) < (" + b.arg("Int64", q.After.Created) + ", " + b.text(q.After.ID) + ")")
	}
	inner := "SELECT delivery_id, endpoint_id, toUnixTimestamp64Nano(started_at) AS at, payload FROM delivery_attempts WHERE " +
		b.conditions() + " ORDER BY at DESC, delivery_id DESC " + b.page(q.Limit)
	return b.statement(b.bounded("delivery_id, endpoint_id, at, payload", "length(payload)", inner, "at DESC, delivery_id DESC"))
}

// feedItem is one delivery of the feed: the body that an http endpoint would get, and where and when.
type feedItem struct {
	ID          string `json:"id"`
	EndpointID  string `json:"endpoint_id"`
	DeliveredAt nanos  `json:"delivered_at"`
	feedBody
}

type feedBody struct {
	Type      string          `json:"type"`
	Timestamp string          `json:"timestamp"` // when it happened
	Data      json.RawMessage `json:"data"`
}

func (rd *Reader) feed(w http.ResponseWriter, r *http.Request) error {
	p, err := parseParams(r, "project_id", "endpoint_id", "event_type", "cursor", "limit")
	if err != nil {
		return err
	}
	project, err := rd.project(r)
	if err != nil {
		return err
	}
	q := FeedQuery{Project: project, Endpoint: p.String("endpoint_id", maxID), Limit: p.Limit()}
	if eventType := p.String("event_type", maxID); eventType != "" {
		q.Events = []string{eventType}
	}
	list := listName("feed", []any{q.Project, q.Endpoint, q.Events})
	var after deliveryKey
	if p.Cursor(list, &after) {
		q.After = &after
	}
	if err := p.err(); err != nil {
		return err
	}
	var items []feedItem
	var matched uint64
	err = rd.query(r.Context(), "feed", q.statement(), func(rows driver.Rows) error {
		var item feedItem
		var payload string
		if err := rows.Scan(&item.ID, &item.EndpointID, (*int64)(&item.DeliveredAt), &payload, &matched); err != nil {
			return err
		}
		items = append(items, item)
		return json.Unmarshal([]byte(payload), &items[len(items)-1].feedBody)
	})
	next := ""
	if err == nil && (len(items) > q.Limit || uint64(len(items)) < matched) {
		items = items[:min(len(items), q.Limit)]
		last := &items[len(items)-1]
		next, err = httpapi.EncodeCursor(list, deliveryKey{int64(last.DeliveredAt), last.ID})
	}
	return writePage(w, items, next, err)
}
