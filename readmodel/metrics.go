package readmodel

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts what happens between this package and ClickHouse; requests
// by route and status are counted by internal/httpapi.
type metrics struct {
	seconds  *prometheus.HistogramVec
	failures *prometheus.CounterVec
	tails    prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "weir_readmodel_query_seconds", Help: "Time of one ClickHouse query of a read endpoint, by query.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"query"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_readmodel_query_failures_total", Help: "ClickHouse queries of read endpoints that failed, by query.",
		}, []string{"query"}),
		tails: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_readmodel_tails", Help: "Tails being followed now.",
		}),
	}
	if reg != nil {
		reg.MustRegister(m.seconds, m.failures, m.tails)
	}
	return m
}

func (m *metrics) observe(query string, took time.Duration, err error) {
	m.seconds.WithLabelValues(query).Observe(took.Seconds())
	if err != nil && !errors.Is(err, context.Canceled) { // a client that left is no failure
		m.failures.WithLabelValues(query).Inc()
	}
}
