package readmodel

import (
	"net/http"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// maxMetrics is how many metrics one answer has when none is named: those with the most values.
const maxMetrics = 20

// SeriesQuery reads count and percentiles of performance events, per metric,
// unit and bucket. Percentiles are exact, between two values by linear
// interpolation. Only buckets with values have rows.
type SeriesQuery struct {
	Project         string
	Metric, Service string // "": any
	From, To        time.Time
	Buckets         Buckets
}

const (
	metricColumn = "JSONExtractString(data, 'metric')"
	unitColumn   = "JSONExtractString(data, 'unit')"
)

func (q SeriesQuery) statement() Statement {
	var b builder
	b.where("project_id = " + b.text(q.Project))
	b.where("type = 'performance'")
	b.within("ts", q.From, q.To)
	b.equal(metricColumn, q.Metric)
	b.equal("JSONExtractString(data, 'service')", q.Service)
	scope := b.conditions()
	if q.Metric == "" {
		b.where("(" + metricColumn + ", " + unitColumn + ") IN (SELECT " + metricColumn + " AS m, " + unitColumn +
			" AS u FROM events WHERE " + scope + " GROUP BY m, u ORDER BY count() DESC, m, u LIMIT " + b.arg("UInt32", maxMetrics) + ")")
	}
	return b.statement(
		"SELECT", metricColumn, "AS metric_name,", unitColumn, "AS unit_name,", q.Buckets.index(&b), "AS bucket, count() AS number,",
		"quantilesExactInclusive(0.5, 0.95, 0.99)(JSONExtractFloat(data, 'value')) AS quantiles_of",
		"FROM events WHERE", b.conditions(), "GROUP BY metric_name, unit_name, bucket ORDER BY metric_name, unit_name, bucket")
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
	span, err := rd.span(r.Context(), EventsFilter{Project: project, Types: []string{"performance"}, From: q.From, To: q.To})
	if err != nil || span.From.IsZero() {
		return writePage(w, []seriesItem{}, "", err)
	}
	if q.Buckets, err = series.cut(span, p); err != nil {
		return err
	}
	q.From, q.To = span.From, span.To // what arrives meanwhile stays out
	var items []seriesItem
	err = rd.query(r.Context(), "series", q.statement(), func(rows driver.Rows) error {
		item, err := scanSeries(rows, q.Buckets)
		items = append(items, item)
		return err
	})
	return writePage(w, items, "", err)
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
