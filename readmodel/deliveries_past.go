package readmodel

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// PastDelivery is a delivery as the webhook lane asks for it.
type PastDelivery struct {
	ID, ProjectID, EndpointID, Status string
	Attempts                          int
}

// PastDelivery reads one delivery; project "" is any. Errors are answers already.
func (rd *Reader) PastDelivery(ctx context.Context, project, id string) (p PastDelivery, known bool, err error) {
	if id == "" || len(id) > maxID {
		return p, false, nil
	}
	var d deliveryItem
	err = rd.query(ctx, "delivery", DeliveryQuery{project, id}.statement(), func(rows driver.Rows) error { return scanDelivery(rows, &d) })
	if err != nil || d.ID == "" {
		return p, false, err
	}
	p = PastDelivery{ID: d.ID, ProjectID: d.ProjectID, Status: d.Status, Attempts: int(d.AttemptCount)}
	if d.EndpointID != nil {
		p.EndpointID = *d.EndpointID
	}
	return p, true, nil
}

// FailedDeliveriesQuery reads the deliveries to an endpoint that were made since a
// time and ended without success, oldest first, and with each row how many there are.
type FailedDeliveriesQuery struct {
	Project  string
	Endpoint string
	Since    time.Time
	Limit    int
}

func (q FailedDeliveriesQuery) statement() Statement {
	var b builder
	b.where("project_id = " + b.text(q.Project))
	from := b.merged()
	b.conds = nil
	b.equal("newest.endpoint_id", q.Endpoint)
	b.where("newest.status IN ('exhausted', 'canceled')")
	b.where("startsWith(delivery_id, 'dlv_')")
	b.where("made >= " + b.arg("Int64", q.Since.UnixNano()))
	return b.statement("SELECT delivery_id, newest.status, attempts, toInt64(count() OVER ()) FROM", from, "WHERE", b.conditions(),
		"ORDER BY made, delivery_id LIMIT "+b.arg("UInt32", q.Limit))
}

// FailedDeliveries reads what FailedDeliveriesQuery says. Errors are answers already.
func (rd *Reader) FailedDeliveries(ctx context.Context, q FailedDeliveriesQuery) (list []PastDelivery, total int, err error) {
	err = rd.query(ctx, "failed_deliveries", q.statement(), func(rows driver.Rows) error {
		p := PastDelivery{ProjectID: q.Project, EndpointID: q.Endpoint}
		var attempts, all int64
		err := rows.Scan(&p.ID, &p.Status, &attempts, &all)
		p.Attempts, total = int(attempts), int(all)
		list = append(list, p)
		return err
	})
	return list, total, err
}

// PastAttempt is what an attempt was signed with, as the history keeps it.
type PastAttempt struct {
	EndpointID, KeyID string
	Headers           map[string]string // of the request, lower-case names
}

// AttemptQuery reads one attempt of a delivery.
type AttemptQuery struct {
	Project, ID string
	Number      int
}

func (q AttemptQuery) statement() Statement {
	var b builder
	b.equal("project_id", q.Project)
	b.where("delivery_id = " + b.text(q.ID))
	b.where("number = " + b.arg("UInt32", q.Number))
	return b.statement("SELECT endpoint_id, key_id, request_headers FROM delivery_attempts WHERE", b.conditions(), "ORDER BY started_at, event_id LIMIT 1")
}

// PastAttempt reads one attempt; project "" is any. Errors are answers already.
func (rd *Reader) PastAttempt(ctx context.Context, project, id string, number int) (a PastAttempt, known bool, err error) {
	if id == "" || len(id) > maxID {
		return a, false, nil
	}
	err = rd.query(ctx, "attempt", AttemptQuery{project, id, number}.statement(), func(rows driver.Rows) error {
		var headers string
		known = true
		if err := rows.Scan(&a.EndpointID, &a.KeyID, &headers); err != nil || headers == "" {
			return err
		}
		return json.Unmarshal([]byte(headers), &a.Headers)
	})
	return a, known, err
}
