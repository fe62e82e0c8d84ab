package eventlog

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the collectors of one Log.
type metrics struct {
	registerer prometheus.Registerer

	latency *prometheus.HistogramVec // topic, outcome
	batches *prometheus.CounterVec   // topic
	records *prometheus.CounterVec   // topic
	bytes   *prometheus.CounterVec   // topic
	group   prometheus.Histogram
	retries *prometheus.CounterVec // topic
	held    prometheus.Gauge
	shed    prometheus.Counter
	fetched *prometheus.CounterVec // topic
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	topic := []string{"topic"}
	m := &metrics{
		registerer: r,
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "weir_log_append_seconds", Help: "Time from Append to the log's acknowledgement.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}, []string{"topic", "outcome"}),
		batches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_log_record_batches_total", Help: "Record batches acknowledged."}, topic),
		records: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_log_appended_records_total", Help: "Records acknowledged."}, topic),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_log_appended_bytes_total", Help: "Bytes of acknowledged record batches, before compression."}, topic),
		group: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "weir_log_records_per_produce", Help: "Records in one acknowledged record batch.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 10),
		}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_log_produce_retries_total", Help: "Produces that were tried again or given up."}, topic),
		held: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_log_append_bytes_in_flight", Help: "Bytes that wait for the log or are under way to it."}),
		shed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_log_appends_shed_total", Help: "Appends refused because too many bytes were waiting."}),
		fetched: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_log_fetched_records_total", Help: "Records handed out by fetches."}, topic),
	}
	return m, m.register()
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.latency, m.batches, m.records, m.bytes, m.group, m.retries, m.held, m.shed, m.fetched}
}

func (m *metrics) register() error {
	if m.registerer == nil {
		return nil
	}
	for _, c := range m.collectors() {
		if err := m.registerer.Register(c); err != nil {
			return errors.Join(errors.New("register the log's metrics"), err)
		}
	}
	return nil
}

func (m *metrics) unregister() {
	if m.registerer == nil {
		return
	}
	for _, c := range m.collectors() {
		m.registerer.Unregister(c)
	}
}

func (m *metrics) acknowledged(topic string) prometheus.Observer {
	return m.latency.WithLabelValues(topic, "acknowledged")
}

func (m *metrics) failed(topic string) prometheus.Observer {
	return m.latency.WithLabelValues(topic, "failed")
}

func (m *metrics) produced(topic string, g *group) {
	if g.err != nil {
		return
	}
	m.batches.WithLabelValues(topic).Inc()
	m.records.WithLabelValues(topic).Add(float64(g.batch.count))
	m.bytes.WithLabelValues(topic).Add(float64(len(g.buf)))
	m.group.Observe(float64(g.batch.count))
}
