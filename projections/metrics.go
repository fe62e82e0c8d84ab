package projections

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are a projector's collectors.
type metrics struct {
	records, bytes, quarantined, retried, blocks *prometheus.CounterVec
	inserts                                      *prometheus.HistogramVec
	failures                                     *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "weir", Subsystem: "fold", Name: name, Help: help}, labels)
	}
	m := &metrics{
		records:     counter("records_total", "Records folded.", "projection"),
		bytes:       counter("bytes_total", "Bytes of the records folded.", "projection"),
		quarantined: counter("quarantined_total", "Records that could not be folded.", "projection"),
		retried:     counter("retried_total", "Records in quarantine that were folded after all.", "projection"),
		blocks:      counter("blocks_total", "Blocks planned, inserted and advanced over.", "projection"),
		inserts: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "weir", Subsystem: "fold", Name: "insert_seconds",
			Help:    "Duration of inserts that ClickHouse took.",
			Buckets: prometheus.ExponentialBuckets(0.002, 2, 14),
		}, []string{"table"}),
		failures: counter("insert_failures_total", "Inserts that failed or whose outcome is unknown; each is repeated.", "table"),
	}
	if r != nil {
		r.MustRegister(m.records, m.bytes, m.quarantined, m.retried, m.blocks, m.inserts, m.failures)
	}
	return m
}

// counters are the metrics of one projection.
type counters struct {
	metrics                             *metrics
	records, bytes, quarantined, blocks prometheus.Counter
}

func (m *metrics) of(projection string) counters {
	return counters{
		metrics:     m,
		records:     m.records.WithLabelValues(projection),
		bytes:       m.bytes.WithLabelValues(projection),
		quarantined: m.quarantined.WithLabelValues(projection),
		blocks:      m.blocks.WithLabelValues(projection),
	}
}

func (c counters) block(records, refused, bytes int) {
	c.blocks.Inc()
	c.records.Add(float64(records))
	c.quarantined.Add(float64(refused))
	c.bytes.Add(float64(bytes))
}

func (c counters) insert(table string, d time.Duration, err error) {
	if err != nil {
		c.metrics.failures.WithLabelValues(table).Inc()
		return
	}
	c.metrics.inserts.WithLabelValues(table).Observe(d.Seconds())
}
