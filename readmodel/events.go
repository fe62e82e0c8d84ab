package readmodel

import (
	"net/http"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/internal/httpapi"
)

// EventsFilter chooses events of one project. It is what /api/events, the
// histogram and the tail have in common.
type EventsFilter struct {
	Project  string
	Types    []string // any of them; none: all
	From, To time.Time
	Text     string // in data, in any case of letters
	Fields   []Filter
}

// eventParams are the names of the parameters of an EventsFilter.
var eventParams = []string{"project_id", "type", "from", "to", "q", "where"}

func (p *params) events(project string) EventsFilter {
	span := p.interval("from", "to")
	return EventsFilter{
		Project: project, Types: p.types("type"), From: span.From, To: span.To,
		Text: p.String("q", maxTextBytes), Fields: p.filters("where"),
	}
}

func (f EventsFilter) conditions(b *builder) {
	f.scope(b)
	if f.Text != "" {
		b.where(dataHolds(b, "data", f.Text))
	}
	for _, field := range f.Fields {
		b.where(field.condition(b))
	}
}

// scope adds the cheap conditions: those that do not look into data.
func (f EventsFilter) scope(b *builder) {
	b.where("project_id = " + b.text(f.Project))
	b.within("ts", f.From, f.To)
	if len(f.Types) > 0 {
		// A byte a row: where a type is rare, the ids and times of most rows need not be read.
		b.early = append(b.early, "type IN "+b.texts(f.Types))
	}
}

// EventsQuery reads one page of events, newest first.
//
// The table's sort key (project_id, ts, event_id) is this order backwards, so
// a page without filters into data reads only its own rows, wherever in the
// project's history it is. event_id makes the order total, which the cursor
// needs: many events can have one ts.
type EventsQuery struct {
	EventsFilter
	After *eventKey // the last row of the page before; nil: the first page
	Limit int
}

// eventKey is the place of an event in the order, and the content of a cursor.
type eventKey struct {
	TS int64  `json:"t"` // nanoseconds since 1970
	ID string `json:"i"` // hex
}

func (q EventsQuery) statement() Statement {
	var b builder
	q.conditions(&b)
	if q.After != nil {
		b.before(*q.After)
	}
	return b.events("at DESC, id DESC", "ts DESC, event_id DESC", q.Limit)
}

// events reads a page of the table in the given order, said once in its own
// columns, which the sort key serves, and once in the columns that come out.
func (b *builder) events(order, keyOrder string, limit int) Statement {
	inner := "SELECT lower(hex(event_id)) AS id, toString(type) AS kind, toUnixTimestamp64Nano(ts) AS at, " +
		"toUnixTimestamp64Milli(received_at) AS received, data FROM events " + b.filter() +
		" ORDER BY " + keyOrder + " " + b.page(limit)
	return b.statement(b.bounded("id, kind, at, received, data", "length(data)", inner, order))
}

// before adds the keyset condition of newest first. The bound on ts alone lets
// the primary index skip what the page before has shown.
func (b *builder) before(k eventKey) {
	at := b.moment(time.Unix(0, k.TS))
	b.where("ts <= " + at)
	b.where("(ts, event_id) < (" + at + ", " + b.eventID(k.ID) + ")")
}

func (b *builder) eventID(hex string) string {
	return "toFixedString(unhex(" + b.text(hex) + "), 16)"
}

// badCursor is what is said of a cursor that was not given by the list it is used on.
const badCursor = "not a cursor of this list with these filters: take next_cursor as it was given"

func (k eventKey) valid() bool { return isHex128(k.ID) }

// isHex128 says whether s is 32 lower-case hex digits, the wire form of an event id or fingerprint.
func isHex128(s string) bool {
	if len(s) != 32 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// eventPage gathers the rows of an EventsQuery or TraceQuery.
type eventPage struct {
	events  []event
	matched uint64
}

func (p *eventPage) scan(rows driver.Rows) error {
	var e event
	if err := rows.Scan(&e.id, &e.kind, &e.at, &e.received, &e.data, &p.matched); err != nil {
		return err
	}
	p.events = append(p.events, e)
	return nil
}

// finish cuts the row read beyond the page and returns the cursor of the next
// page, "" when this is the last.
func (p *eventPage) finish(list string, limit int) (string, error) {
	if uint64(len(p.events)) == p.matched && len(p.events) <= limit {
		return "", nil
	}
	p.events = p.events[:min(len(p.events), limit)]
	last := p.events[len(p.events)-1]
	return httpapi.EncodeCursor(list, eventKey{last.at, last.id})
}

// eventCursor reads the cursor of a list whose position is an eventKey.
func (p *params) eventCursor(list string) *eventKey {
	var k eventKey
	if !p.Cursor(list, &k) {
		return nil
	}
	if !k.valid() {
		p.Bad("cursor", badCursor)
	}
	return &k
}

func (rd *Reader) listEvents(w http.ResponseWriter, r *http.Request) error {
	p, err := parseParams(r, with(eventParams, "cursor", "limit")...)
	if err != nil {
		return err
	}
	project, err := rd.project(r)
	if err != nil {
		return err
	}
	filter := p.events(project)
	list := listName("events", filter)
	q := EventsQuery{EventsFilter: filter, After: p.eventCursor(list), Limit: p.Limit()}
	if err := p.err(); err != nil {
		return err
	}
	var page eventPage
	if err := rd.query(r.Context(), "events", q.statement(), page.scan); err != nil {
		return err
	}
	next, err := page.finish(list, q.Limit)
	if err != nil {
		return err
	}
	writeBody(w, eventsBody("", page.events, next))
	return nil
}
