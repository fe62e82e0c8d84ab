package readmodel

import (
	"encoding/json"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/internal/httpapi"
)

// GroupQuery finds out which project and group a fingerprint belongs to now: it
// is a group's own, or an older name of one. For the admin, who need not name
// the project, Project is "".
type GroupQuery struct {
	Project     string
	Fingerprint string
}

func (q GroupQuery) statement() Statement {
	var b builder
	b.equal("project_id", q.Project)
	b.where("fingerprint = " + b.eventID(q.Fingerprint))
	own := "SELECT project_id, lower(hex(fingerprint)) AS name, toUInt8(1) AS own, toUInt64(0) AS total FROM error_groups WHERE " + b.conditions() + " LIMIT 1"
	b.conds = nil
	b.equal("project_id", q.Project)
	b.where("alias = " + b.eventID(q.Fingerprint))
	alias := "SELECT project_id, lower(hex(fingerprint)) AS name, toUInt8(0) AS own, sum(count) AS total FROM error_aliases WHERE " + b.conditions() + " GROUP BY project_id, fingerprint"
	return b.statement("SELECT project_id, name FROM (" + own + " UNION ALL " + alias + ") ORDER BY own DESC, total DESC, name LIMIT 1")
}

// GroupStateQuery reads one group with its status, its texts and why it is one,
// merged groups and all.
type GroupStateQuery struct {
	scope       groupScope
	Fingerprint string
	Now         time.Time
}

func (q GroupStateQuery) statement() Statement {
	var b builder
	flat := b.flatGroups(q.scope, q.scope.members(q.Fingerprint), true)
	return b.statement("SELECT lower(hex(fingerprint)) AS id, total, first_at, last_at, " + b.status(q.Now, "ignored_until") + " AS status," +
		" newest.name, newest.message, newest.culprit, earliest_release.release, latest_release.release, newest.explanation FROM (" + flat + ")")
}

// OccurrencesQuery reads one page of a group's occurrences, newest first, in
// the reverse order of the table's sort key.
type OccurrencesQuery struct {
	Project      string
	Fingerprints []string // of the group and what is merged into it
	After        *eventKey
	Limit        int
}

func (q OccurrencesQuery) statement() Statement {
	var b builder
	b.where("project_id = " + b.text(q.Project))
	if len(q.Fingerprints) == 1 {
		b.where("fingerprint = " + b.eventID(q.Fingerprints[0]))
	} else {
		b.where("fingerprint IN (" + b.prints(q.Fingerprints) + ")")
	}
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
