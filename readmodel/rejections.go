package readmodel

import (
	"net/http"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/internal/httpapi"
)

// Rejections is the projection of what the door refused.
const Rejections = "rejections"

// RejectionsQuery reads one page of the reasons for which a project's events were
// refused, the latest first.
type RejectionsQuery struct {
	Project  string
	Types    []string  // any of them, "" for an unknown one; none: all
	From, To time.Time // whole hours: From's is inside, To's too unless it has just begun; zero: open
	After    *rejectionKey
	Limit    int
}

// rejectionKey is the place of a reason in the order, and the content of a cursor.
type rejectionKey struct {
	Last   int64  `json:"l"` // milliseconds since 1970
	Type   string `json:"t"`
	Reason string `json:"r"`
}

func (q RejectionsQuery) statement() Statement {
	var b builder
	b.where("project_id = " + b.text(q.Project))
	if len(q.Types) > 0 {
		b.where("type IN " + b.texts(q.Types))
	}
	if !q.From.IsZero() {
		b.where("toUnixTimestamp(hour) >= " + b.arg("Int64", q.From.Unix()/3600*3600))
	}
	if !q.To.IsZero() {
		b.where("toUnixTimestamp(hour) < " + b.arg("Int64", q.To.Unix()))
	}
	inner := "SELECT toString(type) AS kind, reason, sum(number) AS count, toUnixTimestamp64Milli(max(latest).at) AS last, max(latest).sample AS sample, " +
		"toInt64(toUnixTimestamp(min(hour))) AS since FROM rejections WHERE " + b.conditions() + " GROUP BY kind, reason"
	b.conds = nil
	if q.After != nil {
		b.where("(last < " + b.arg("Int64", q.After.Last) + " OR (last = " + b.arg("Int64", q.After.Last) +
			" AND (kind, reason) > (" + b.text(q.After.Type) + ", " + b.text(q.After.Reason) + ")))")
	}
	return b.statement("SELECT kind, reason, count, last, sample, since FROM ("+inner+") WHERE", b.conditions(),
		"ORDER BY last DESC, kind, reason", b.page(q.Limit))
}

// rejectionItem is a reason as the API shows it; the type is null when it was not known.
type rejectionItem struct {
	Type      *string `json:"type"`
	Reason    string  `json:"reason"`
	Count     uint64  `json:"count"`
	FirstHour nanos   `json:"first_hour"`
	LastSeen  nanos   `json:"last_seen"`
	Sample    string  `json:"sample"`
	key       rejectionKey
}

func scanRejection(rows driver.Rows, item *rejectionItem) error {
	var since int64
	k := &item.key
	err := rows.Scan(&k.Type, &k.Reason, &item.Count, &k.Last, &item.Sample, &since)
	item.Type, item.Reason = orNull(k.Type), k.Reason
	item.LastSeen, item.FirstHour = nanos(k.Last*int64(time.Millisecond)), nanos(since*int64(time.Second))
	return err
}

func (rd *Reader) rejections(w http.ResponseWriter, r *http.Request) error {
	p, err := parseParams(r, "project_id", "type", "since", "until", "cursor", "limit")
	if err != nil {
		return err
	}
	q := RejectionsQuery{Limit: p.Limit(), Types: p.types("type")}
	if q.Project, err = rd.project(r); err != nil {
		return err
	}
	span := p.interval("since", "until")
	q.From, q.To = span.From, span.To
	list := listName("rejections", []any{q.Project, q.Types, q.From, q.To})
	var after rejectionKey
	if p.Cursor(list, &after) {
		q.After = &after
	}
	if err := p.err(); err != nil {
		return err
	}
	var items []rejectionItem
	err = rd.query(r.Context(), "rejections", q.statement(), func(rows driver.Rows) error {
		var item rejectionItem
		err := scanRejection(rows, &item)
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
