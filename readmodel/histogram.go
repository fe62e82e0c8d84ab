package readmodel

import (
	"context"
	"net/http"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/internal/httpapi"
)

// SpanQuery finds the first and last ts of the events in scope, looking at
// neither q nor where: two short reads at the ends of the sort key. It gives
// one row; both columns are NULL when there is no event.
type SpanQuery struct{ EventsFilter }

func (q SpanQuery) statement() Statement {
	var b builder
	q.scope(&b)
	end := func(order string) string {
		return "(SELECT toUnixTimestamp64Nano(ts) FROM events " + b.filter() + " ORDER BY project_id " + order + ", ts " + order + " LIMIT 1)"
	}
	return b.statement("SELECT", end("ASC"), "AS first,", end("DESC"), "AS last")
}

// HistogramQuery counts events by bucket and type. Only buckets with events
// have rows. A filter that looks into data is tried on every event in range;
// without one, kept counts are summed up.
type HistogramQuery struct {
	EventsFilter // its From and To bound the buckets
	Buckets      Buckets
}

func (q HistogramQuery) statement() Statement {
	if q.Text == "" && len(q.Fields) == 0 && q.From.Before(q.To) {
		return q.counts()
	}
	return q.scan()
}

// scan tries the filter on every event in range.
func (q HistogramQuery) scan() Statement {
	var b builder
	q.conditions(&b)
	return b.statement(
		"SELECT", q.Buckets.index(&b), "AS bucket, toString(type) AS kind, count() AS events",
		"FROM events", b.filter(), "GROUP BY bucket, type")
}

// bucketItem is one bucket: From inside, To outside.
type bucketItem struct {
	From  time.Time         `json:"from"`
	To    time.Time         `json:"to"`
	Count uint64            `json:"count"`
	Types map[string]uint64 `json:"types"`
}

// items are all buckets, oldest first, the empty ones too.
func (b Buckets) items() []bucketItem {
	items := make([]bucketItem, b.Count)
	for i := range items {
		items[i] = bucketItem{From: b.Start(i), To: b.Start(i + 1), Types: map[string]uint64{}}
	}
	return items
}

func (rd *Reader) histogram(w http.ResponseWriter, r *http.Request) error {
	p, err := parseParams(r, with(eventParams, "interval", "buckets")...)
	if err != nil {
		return err
	}
	project, err := rd.project(r)
	if err != nil {
		return err
	}
	filter, series := p.events(project), p.series()
	if err := p.err(); err != nil {
		return err
	}
	span, err := rd.span(r.Context(), filter)
	if err != nil || span.From.IsZero() {
		return writePage(w, []bucketItem{}, "", err)
	}
	buckets, err := series.cut(span, p)
	if err != nil {
		return err
	}
	filter.From, filter.To = span.From, span.To // what arrives meanwhile stays out
	items := buckets.items()
	err = rd.query(r.Context(), "histogram", HistogramQuery{filter, buckets}.statement(), func(rows driver.Rows) error {
		return scanBucket(rows, items)
	})
	return writePage(w, items, "", err)
}

func scanBucket(rows driver.Rows, items []bucketItem) error {
	var bucket int64
	var kind string
	var events uint64
	if err := rows.Scan(&bucket, &kind, &events); err != nil {
		return err
	}
	if bucket < 0 || bucket >= int64(len(items)) {
		return nil // an event that arrived after the span was looked up
	}
	items[bucket].Count += events
	items[bucket].Types[kind] += events
	return nil
}

// span is the time a series covers: as asked, and where an end is open, to
// the first or last event there is. It is zero when there is none.
func (rd *Reader) span(ctx context.Context, f EventsFilter) (interval, error) {
	span := interval{f.From, f.To}
	if !span.From.IsZero() && !span.To.IsZero() {
		return span, nil
	}
	var first, last *int64
	err := rd.query(ctx, "span", SpanQuery{f}.statement(), func(rows driver.Rows) error { return rows.Scan(&first, &last) })
	if err != nil || first == nil || last == nil {
		return interval{}, err
	}
	return span.filled(*first, *last), nil
}

// filled puts the first and last moment there is, in nanoseconds since 1970, where an end is open.
func (i interval) filled(first, last int64) interval {
	if i.From.IsZero() {
		i.From = time.Unix(0, first).UTC()
	}
	if i.To.IsZero() {
		i.To = time.Unix(0, last+1).UTC()
	}
	return i
}

// writePage answers with a page of items, unless there was an error.
func writePage[T any](w http.ResponseWriter, items []T, next string, err error) error {
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusOK, httpapi.NewPage(items, next))
	return nil
}
