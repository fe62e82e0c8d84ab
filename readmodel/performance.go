package readmodel

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// maxMetrics is how many metrics one answer has when none is named: those with the
// most values. A metric in several units counts once for each.
const maxMetrics = 20

// SeriesQuery reads count and percentiles of performance events, per metric,
// unit and bucket. Percentiles are exact, between two values by linear
// interpolation. Only buckets with values have rows.
//
// It is asked in two steps, because grouping rows by two names and a time takes
// twice as long as all else: first for the names, which one column serves, then
// for each metric by itself, which is a run of rows grouped by time alone.
type SeriesQuery struct {
	Project         string
	Metric, Service string // "": any
	From, To        time.Time
	Buckets         Buckets
	Of              []metric // what names gave
}

type metric struct{ name, unit string }

// scope adds the conditions that choose measurements.
func (q SeriesQuery) scope(b *builder) {
	b.where("project_id = " + b.text(q.Project))
	b.within("ts", q.From, q.To)
	b.equal("metric", q.Metric)
	b.equal("service", q.Service)
}

// names finds the metrics with the most values.
func (q SeriesQuery) names() Statement {
	var b builder
	q.scope(&b)
	return b.statement("SELECT toString(metric) FROM performance_values WHERE", b.conditions(),
		"GROUP BY metric ORDER BY count() DESC, metric LIMIT", b.arg("UInt32", maxMetrics))
}

// units finds the units of metrics, in the order given.
func (q SeriesQuery) units(names []string) Statement {
	var b builder
	q.scope(&b)
	scope := b.conditions()
	parts := make([]string, len(names))
	for i, name := range names {
		holder := b.text(name)
		parts[i] = fmt.Sprintf("SELECT %d AS place, %s AS name, toString(unit) AS unit_name FROM performance_values WHERE %s AND metric = %s GROUP BY unit", i, holder, scope, holder)
	}
	return b.statement("SELECT name, unit_name FROM (" + strings.Join(parts, " UNION ALL ") + ") ORDER BY place, unit_name LIMIT " + b.arg("UInt32", maxMetrics))
}

func (q SeriesQuery) statement() Statement {
	var b builder
	q.scope(&b)
	scope, bucket := b.conditions(), q.Buckets.index(&b)
	parts := make([]string, len(q.Of))
	for i, m := range q.Of {
		name, unit := b.text(m.name), b.text(m.unit)
		parts[i] = "SELECT " + name + " AS name, " + unit + " AS unit_name, " + bucket + " AS bucket, count() AS number, " +
			"quantilesExactInclusive(0.5, 0.95, 0.99)(value) AS quantiles_of FROM performance_values WHERE " + scope +
			" AND metric = " + name + " AND unit = " + unit + " GROUP BY bucket"
	}
	return b.statement("SELECT name, unit_name, bucket, number, quantiles_of FROM (" + strings.Join(parts, " UNION ALL ") +
		") ORDER BY name, unit_name, bucket")
}

// ends finds the first and last ts in scope: one row, zeros when there is none.
func (q SeriesQuery) ends() Statement {
	var b builder
	q.scope(&b)
	return b.statement("SELECT count() > 0, toUnixTimestamp64Nano(min(ts)), toUnixTimestamp64Nano(max(ts)) FROM performance_values WHERE", b.conditions())
}

// seriesItem is one bucket of one metric: From inside, To outside.
type seriesItem struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Metric string    `json:"metric"`
	Unit   *string   `json:"unit"`
	Count  uint64    `json:"count"`
	P50    float64   `json:"p50"`
	P95    float64   `json:"p95"`
	P99    float64   `json:"p99"`
}

func (rd *Reader) performance(w http.ResponseWriter, r *http.Request) error {
	p, err := parseParams(r, "project_id", "metric", "service", "from", "to", "interval", "buckets")
	if err != nil {
		return err
	}
	project, err := rd.project(r)
	if err != nil {
		return err
	}
	asked := p.interval("from", "to")
	q := SeriesQuery{Project: project, Metric: p.String("metric", maxID), Service: p.String("service", maxID), From: asked.From, To: asked.To}
	series := p.series()
	if err := p.err(); err != nil {
		return err
	}
	span, err := rd.measured(r.Context(), q)
	if err != nil || span.From.IsZero() {
		return writePage(w, []seriesItem{}, "", err)
	}
	if q.Buckets, err = series.cut(span, p); err != nil {
		return err
	}
	q.From, q.To = span.From, span.To // what arrives meanwhile stays out
	if q.Of, err = rd.metrics(r.Context(), q); err != nil || len(q.Of) == 0 {
		return writePage(w, []seriesItem{}, "", err)
	}
	var items []seriesItem
	err = rd.query(r.Context(), "series", q.statement(), func(rows driver.Rows) error {
		item, err := scanSeries(rows, q.Buckets)
		items = append(items, item)
		return err
	})
	return writePage(w, items, "", err)
}

// metrics are those of an answer, the ones with the most values first.
func (rd *Reader) metrics(ctx context.Context, q SeriesQuery) (of []metric, err error) {
	var names []string
	err = rd.query(ctx, "performance metrics", q.names(), func(rows driver.Rows) error {
		var name string
		err := rows.Scan(&name)
		names = append(names, name)
		return err
	})
	if err != nil || len(names) == 0 {
		return nil, err
	}
	err = rd.query(ctx, "performance units", q.units(names), func(rows driver.Rows) error {
		var m metric
		err := rows.Scan(&m.name, &m.unit)
		of = append(of, m)
		return err
	})
	return of, err
}

// measured is the time a series covers: as asked, and where an end is open, to
// the first or last measurement there is. It is zero when there is none.
func (rd *Reader) measured(ctx context.Context, q SeriesQuery) (interval, error) {
	if !q.From.IsZero() && !q.To.IsZero() {
		return interval{q.From, q.To}, nil
	}
	var some bool
	var first, last int64
	err := rd.query(ctx, "performance span", q.ends(), func(rows driver.Rows) error { return rows.Scan(&some, &first, &last) })
	if err != nil || !some {
		return interval{}, err
	}
	return interval{q.From, q.To}.filled(first, last), nil
}

func scanSeries(rows driver.Rows, buckets Buckets) (item seriesItem, err error) {
	var unit string
	var bucket int64
	var quantiles []float64
	if err := rows.Scan(&item.Metric, &unit, &bucket, &item.Count, &quantiles); err != nil {
		return item, err
	}
	item.Unit = orNull(unit)
	item.From, item.To = buckets.Start(int(bucket)), buckets.Start(int(bucket)+1)
	item.P50, item.P95, item.P99 = quantiles[0], quantiles[1], quantiles[2]
	return item, nil
}
