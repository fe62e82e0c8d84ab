package deliveries

import (
	"time"

	"weir/projections"
	"weir/readmodel/tables"
)

// deliveryRows are the columns of tables.Deliveries: one row per delivery that
// the block touches.
type deliveryRows struct {
	at         map[deliveryKey]int
	keys       []deliveryKey
	attempts   []uint64
	created    []time.Time
	first, end []*time.Time // of attempts, nil when there is none
	latest     []state
}

type deliveryKey struct{ project, id string }

// state is the tuple in tables.Deliveries' column latest. Of two, the greater
// one is kept: compared element by element, as ClickHouse's max does.
type state struct {
	number                                  uint32
	ts                                      time.Time
	eventID, status                         string
	statusCode                              int32
	endpointID, destination, url, eventType string
}

// less compares up to the event id, which no two events share.
func (s state) less(o state) bool {
	if s.number != o.number {
		return s.number < o.number
	}
	if !s.ts.Equal(o.ts) {
		return s.ts.Before(o.ts)
	}
	return s.eventID < o.eventID
}

func (s state) tuple() []any {
	return []any{s.number, s.ts, s.eventID, s.status, s.statusCode, s.endpointID, s.destination, s.url, s.eventType}
}

func (d *deliveryRows) add(a *attempt) {
	k := deliveryKey{a.project, a.deliveryID}
	now := state{
		number: a.number, ts: a.ts, eventID: a.eventID, status: a.state, statusCode: a.statusCode,
		endpointID: a.endpointID, destination: a.destination, url: a.url, eventType: a.eventType,
	}
	i, ok := d.at[k]
	if !ok {
		i = len(d.keys)
		d.at[k] = i
		d.keys = append(d.keys, k)
		d.attempts = append(d.attempts, 0)
		d.created = append(d.created, a.ts)
		d.first, d.end = append(d.first, nil), append(d.end, nil)
		d.latest = append(d.latest, now)
	}
	if a.ts.Before(d.created[i]) {
		d.created[i] = a.ts
	}
	if d.latest[i].less(now) {
		d.latest[i] = now
	}
	if a.made {
		d.attempted(i, a.began)
	}
}

func (d *deliveryRows) attempted(i int, began time.Time) {
	d.attempts[i]++
	if d.first[i] == nil || began.Before(*d.first[i]) {
		d.first[i] = &began
	}
	if d.end[i] == nil || began.After(*d.end[i]) {
		d.end[i] = &began
	}
}

func (d *deliveryRows) block() projections.Block {
	n := len(d.keys)
	project, id, latest := make([]string, n), make([]string, n), make([][]any, n)
	for i, k := range d.keys {
		project[i], id[i], latest[i] = k.project, k.id, d.latest[i].tuple()
	}
	return projections.Block{
		Table:   tables.Deliveries(),
		Columns: []any{project, id, d.attempts, d.created, d.first, d.end, latest},
		Rows:    n,
	}
}

func (d *deliveryRows) reset() {
	clear(d.at)
	*d = deliveryRows{at: d.at}
}

// attemptRows are the columns of tables.DeliveryAttempts.
type attemptRows struct {
	project, id                                   []string
	number                                        []uint32
	started                                       []time.Time
	eventID                                       []string
	received                                      []time.Time
	outcome                                       []string
	statusCode                                    []int32
	failure                                       []string
	duration                                      []float64
	endpoint                                      []string
	version                                       []uint32
	key, destination, url, eventType, eventIDs    []string
	requestHeaders, responseHeaders, responseBody []string
	payload                                       []string
	partition                                     []uint32
	offset                                        []int64
}

func (t *attemptRows) add(a *attempt) {
	t.project = append(t.project, a.project)
	t.id = append(t.id, a.deliveryID)
	t.number = append(t.number, a.number)
	t.started = append(t.started, a.began)
	t.eventID = append(t.eventID, a.eventID)
	t.received = append(t.received, a.received)
	t.outcome = append(t.outcome, a.outcome)
	t.statusCode = append(t.statusCode, a.statusCode)
	t.failure = append(t.failure, a.failureCode)
	t.duration = append(t.duration, a.durationMs)
	t.endpoint = append(t.endpoint, a.endpointID)
	t.version = append(t.version, a.endpointVersion)
	t.key = append(t.key, a.keyID)
	t.destination = append(t.destination, a.destination)
	t.url = append(t.url, a.url)
	t.eventType = append(t.eventType, a.eventType)
	t.eventIDs = append(t.eventIDs, a.eventIDs)
	t.requestHeaders = append(t.requestHeaders, a.requestHeaders)
	t.responseHeaders = append(t.responseHeaders, a.responseHeaders)
	t.responseBody = append(t.responseBody, a.responseBody)
	t.payload = append(t.payload, a.payload)
	t.partition = append(t.partition, a.partition)
	t.offset = append(t.offset, a.offset)
}

func (t *attemptRows) block() projections.Block {
	return projections.Block{
		Table: tables.DeliveryAttempts(),
		Columns: []any{
			t.project, t.id, t.number, t.started, t.eventID, t.received, t.outcome, t.statusCode, t.failure,
			t.duration, t.endpoint, t.version, t.key, t.destination, t.url, t.eventType, t.eventIDs,
			t.requestHeaders, t.responseHeaders, t.responseBody, t.payload, t.partition, t.offset,
		},
		Rows: len(t.id),
	}
}
