package readmodel

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/internal/httpapi"
)

// GroupQuery reads one group. A fingerprint belongs to one project, so for the
// admin, who need not name it, Project is "".
type GroupQuery struct {
	Project     string
	Fingerprint string
}

func (q GroupQuery) statement() Statement {
	var b builder
	b.equal("project_id", q.Project)
	b.where("fingerprint = " + b.eventID(q.Fingerprint))
	return b.statement(
		"SELECT project_id, toInt64(sum(count)), toUnixTimestamp64Nano(min(first_seen)), toUnixTimestamp64Nano(max(last_seen)),",
		"tupleElement(max(latest), 'explanation') FROM error_groups WHERE", b.conditions(), "GROUP BY project_id, fingerprint LIMIT 1")
}

// OccurrencesQuery reads one page of a group's occurrences, newest first, in
// the reverse order of the table's sort key.
type OccurrencesQuery struct {
	Project     string
	Fingerprint string
	After       *eventKey
	Limit       int
}

func (q OccurrencesQuery) statement() Statement {
	var b builder
	b.where("project_id = " + b.text(q.Project))
	b.where("fingerprint = " + b.eventID(q.Fingerprint))
	if q.After != nil {
		b.before(*q.After)
	}
	inner := "SELECT lower(hex(event_id)) AS id, toUnixTimestamp64Nano(ts) AS at, toUnixTimestamp64Nano(toDateTime64(received_at, 9, 'UTC')) AS received, " +
		occurrenceTexts + " FROM error_occurrences WHERE " + b.conditions() + " ORDER BY ts DESC, event_id DESC " + b.page(q.Limit)
	return b.statement(b.bounded("id, at, received, "+occurrenceTexts,
		"length(message) + length(stack) + length(request) + length(metadata)", inner, "at DESC, id DESC"))
}

const occurrenceTexts = "name, message, culprit, release, environment, service, stack, request, metadata"

// occurrence is one error event of a group as the API shows it.
type occurrence struct {
	EventID     string          `json:"event_id"`
	TS          nanos           `json:"ts"`
	ReceivedAt  nanos           `json:"received_at"`
	Name        string          `json:"name"`
	Message     string          `json:"message"`
	Culprit     string          `json:"culprit"`
	Release     *string         `json:"release"`
	Environment *string         `json:"environment"`
	Service     *string         `json:"service"`
	Stack       json.RawMessage `json:"stack"`
	Request     json.RawMessage `json:"request"`
	Metadata    json.RawMessage `json:"metadata"`
}

type occurrencePage struct {
	items   []occurrence
	matched uint64
}

func (p *occurrencePage) scan(rows driver.Rows) error {
	var o occurrence
	var release, environment, service, stack, request, metadata string
	err := rows.Scan(&o.EventID, (*int64)(&o.TS), (*int64)(&o.ReceivedAt), &o.Name, &o.Message, &o.Culprit,
		&release, &environment, &service, &stack, &request, &metadata, &p.matched)
	o.Release, o.Environment, o.Service = orNull(release), orNull(environment), orNull(service)
	o.Stack, o.Request, o.Metadata = rawJSON(stack), rawJSON(request), rawJSON(metadata)
	p.items = append(p.items, o)
	return err
}

func (p *occurrencePage) finish(list string, limit int) (httpapi.Page[occurrence], error) {
	if uint64(len(p.items)) == p.matched && len(p.items) <= limit {
		return httpapi.NewPage(p.items, ""), nil
	}
	p.items = p.items[:min(len(p.items), limit)]
	last := p.items[len(p.items)-1]
	next, err := httpapi.EncodeCursor(list, eventKey{int64(last.TS), last.EventID})
	return httpapi.NewPage(p.items, next), err
}

// groupDetail is the answer of GET /api/errors/groups/{fingerprint}.
type groupDetail struct {
	groupItem
	ProjectID   string                   `json:"project_id"`
	Occurrences httpapi.Page[occurrence] `json:"occurrences"`
	Explanation json.RawMessage          `json:"explanation"`
}

func (rd *Reader) group(w http.ResponseWriter, r *http.Request) error {
	p, err := parseParams(r, "project_id", "cursor", "limit")
	if err != nil {
		return err
	}
	project, err := rd.walls(r)
	if err != nil {
		return err
	}
	q := OccurrencesQuery{Fingerprint: pathValue(r, "fingerprint"), Limit: p.Limit()}
	list := listName("occurrences", q.Fingerprint)
	q.After = p.eventCursor(list)
	if err := p.err(); err != nil {
		return err
	}
	detail, err := rd.readGroup(r.Context(), GroupQuery{project, q.Fingerprint})
	if err != nil {
		return err
	}
	q.Project = detail.ProjectID
	var page occurrencePage
	if err := rd.query(r.Context(), "occurrences", q.statement(), page.scan); err != nil {
		return err
	}
	if detail.Occurrences, err = page.finish(list, q.Limit); err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusOK, detail)
	return nil
}

func (rd *Reader) readGroup(ctx context.Context, q GroupQuery) (groupDetail, error) {
	d := groupDetail{groupItem: newGroup()}
	if !isHex128(q.Fingerprint) {
		return d, httpapi.NotFound("error group")
	}
	err := rd.query(ctx, "group", q.statement(), func(rows driver.Rows) error {
		var explanation string
		err := rows.Scan(&d.ProjectID, &d.Count, (*int64)(&d.FirstSeen), (*int64)(&d.LastSeen), &explanation)
		d.Explanation = rawJSON(explanation)
		return err
	})
	if err != nil {
		return d, err
	}
	if d.ProjectID == "" {
		return d, httpapi.NotFound("error group")
	}
	d.Fingerprint = q.Fingerprint
	one := []groupItem{d.groupItem}
	err = rd.describe(ctx, d.ProjectID, one)
	d.groupItem = one[0]
	return d, err
}
