package readmodel

import (
	"errors"
	"net/http"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
	"weir/readmodel/tables"
)

// QuarantineQuery reads one page of the records that one generation of a projection
// could not fold, the newest first. It is over all projects: the admin's alone.
type QuarantineQuery struct {
	Projection string
	Generation int
	After      *quarantineKey
	Limit      int
}

// quarantineKey is the place of a record in the order, and the content of a cursor.
type quarantineKey struct {
	Received  int64  `json:"r"` // milliseconds since 1970
	Topic     string `json:"t"`
	Partition uint32 `json:"p"`
	Offset    int64  `json:"o"`
}

func (q QuarantineQuery) statement() Statement {
	var b builder
	b.where("projection = " + b.text(q.Projection))
	b.where("generation = " + b.arg("UInt32", q.Generation))
	if k := q.After; k != nil {
		b.where("(toUnixTimestamp64Milli(received_at), toString(topic), partition, offset) < (" +
			b.arg("Int64", k.Received) + ", " + b.text(k.Topic) + ", " + b.arg("UInt32", k.Partition) + ", " + b.arg("Int64", k.Offset) + ")")
	}
	page := "SELECT received_at, topic, partition, offset, project_id, reason, payload, payload_bytes FROM quarantine WHERE " + b.conditions() +
		" ORDER BY received_at DESC, topic DESC, partition DESC, offset DESC " + b.page(q.Limit)
	retries := "SELECT topic, partition, offset, max(latest) AS l FROM quarantine_retries WHERE projection = " + b.text(q.Projection) +
		" AND generation = " + b.arg("UInt32", q.Generation) + " GROUP BY topic, partition, offset"
	return b.statement("SELECT toUnixTimestamp64Milli(received_at), toString(topic), partition, offset, project_id, reason, payload, payload_bytes,",
		"tupleElement(r.l, 1), tupleElement(r.l, 2), toUnixTimestamp64Milli(tupleElement(r.l, 3)), tupleElement(r.l, 4)",
		"FROM ("+page+") AS q LEFT JOIN ("+retries+") AS r USING (topic, partition, offset)",
		"ORDER BY received_at DESC, topic DESC, partition DESC, offset DESC")
}

// quarantineItem is a record as the API shows it. Bytes that are not UTF-8 show as U+FFFD.
type quarantineItem struct {
	Projection   string  `json:"projection"`
	Topic        string  `json:"topic"`
	Partition    uint32  `json:"partition"`
	Offset       int64   `json:"offset"`
	ProjectID    *string `json:"project_id"` // the record's key, whoever wrote it; null when it has none
	Reason       string  `json:"reason"`
	Payload      string  `json:"payload"`       // cut to what the table keeps
	PayloadBytes uint64  `json:"payload_bytes"` // of the whole record
	ReceivedAt   nanos   `json:"received_at"`
	Generation   int     `json:"generation"`
	Retry        *retry  `json:"retry"` // null: never asked for
	key          quarantineKey
}

// retry is how far the retry of a record is. What is retried is in quarantine no longer: its rows are in the tables.
type retry struct {
	State   string  `json:"state"` // asked, planned, refused, in_doubt, retried
	Attempt uint32  `json:"attempt"`
	At      nanos   `json:"at"`
	Reason  *string `json:"reason"` // why it was refused or is in doubt
}

var retryStates = map[uint8]string{
	tables.RetryAsked: "asked", tables.RetryPlanned: "planned", tables.RetryRefused: "refused",
	tables.RetryDoubt: "in_doubt", tables.RetryDone: "retried",
}

func scanQuarantined(rows driver.Rows, item *quarantineItem) error {
	var project, why string
	var attempt uint32
	var step uint8
	var at int64
	k := &item.key
	err := rows.Scan(&k.Received, &k.Topic, &k.Partition, &k.Offset, &project, &item.Reason, &item.Payload, &item.PayloadBytes,
		&attempt, &step, &at, &why)
	if step != 0 {
		item.Retry = &retry{State: retryStates[step], Attempt: attempt, At: nanos(at * int64(time.Millisecond)), Reason: orNull(why)}
	}
	item.Topic, item.Partition, item.Offset, item.ProjectID = k.Topic, k.Partition, k.Offset, orNull(project)
	item.ReceivedAt = nanos(k.Received * int64(time.Millisecond))
	return err
}

var errNoGeneration = errors.New("the generation of the projection's live tables is not known yet")

// quarantine lists what the live generation could not fold: a kept one, or one
// that is being built, has records of its own, which are not shown.
func (rd *Reader) quarantine(w http.ResponseWriter, r *http.Request) error {
	p, err := parseParams(r, "cursor", "limit")
	if err != nil {
		return err
	}
	q := QuarantineQuery{Projection: pathValue(r, "name"), Limit: p.Limit()}
	generation, known := rd.cfg.Generation(q.Projection)
	if !known {
		return httpapi.NotFound("projection")
	}
	list := listName("quarantine", []any{q.Projection, generation})
	var after quarantineKey
	if p.Cursor(list, &after) {
		q.After = &after
	}
	if err := p.err(); err != nil {
		return err
	}
	if q.Generation = generation; generation == 0 {
		return unavailable(errNoGeneration)
	}
	var items []quarantineItem
	err = rd.query(r.Context(), "quarantine", q.statement(), func(rows driver.Rows) error {
		item := quarantineItem{Projection: q.Projection, Generation: q.Generation}
		err := scanQuarantined(rows, &item)
		items = append(items, item)
		return err
	})
	next := ""
	if err == nil && len(items) > q.Limit {
		items = items[:q.Limit]
		next, err = httpapi.EncodeCursor(list, items[q.Limit-1].key)
	}
	return writePage(w, items, next, err)
}

// adminRoutes are the reads over all projects.
func (rd *Reader) adminRoutes(r chi.Router) {
	r.Use(httpapi.RequireAdmin(rd.cfg.Auth))
	r.Get("/api/projections/{name}/quarantine", func(w http.ResponseWriter, r *http.Request) {
		if err := rd.quarantine(w, r); err != nil {
			httpapi.WriteError(w, r, err)
		}
	})
}
