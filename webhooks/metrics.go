package webhooks

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"weir/eventlog"
)

func isUnavailable(err error) bool { return errors.Is(err, eventlog.ErrUnavailable) }

type metrics struct {
	owed       *prometheus.CounterVec // kind
	attempts   *prometheus.CounterVec // kind, result
	outcomes   *prometheus.CounterVec // kind, status of the delivery after the attempt
	seconds    *prometheus.HistogramVec
	moved      *prometheus.CounterVec // reason
	waiting    *prometheus.GaugeVec   // kind
	flying     *prometheus.GaugeVec   // kind
	canceled   *prometheus.CounterVec // kind
	unreadable prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, l *Lane) *metrics {
	m := &metrics{
		owed:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_webhooks_owed_total", Help: "Deliveries taken up that were newly owed, by endpoint kind."}, []string{"kind"}),
		attempts:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_webhooks_attempts_total", Help: "Attempts by endpoint kind and result: succeeded or the failure's code."}, []string{"kind", "result"}),
		outcomes:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_webhooks_deliveries_total", Help: "Deliveries by endpoint kind and the status an attempt gave them: succeeded, retrying, exhausted."}, []string{"kind", "status"}),
		seconds:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_webhooks_attempt_seconds", Help: "Duration of attempts.", Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15}}, []string{"kind"}),
		moved:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_webhooks_moved_total", Help: "Deliveries moved to a delay topic without an attempt, by reason."}, []string{"reason"}),
		flying:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "weir_webhooks_in_flight", Help: "Attempts under way, by endpoint kind."}, []string{"kind"}),
		waiting:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "weir_webhooks_waiting", Help: "Deliveries in memory that wait until their endpoint is free, by its kind."}, []string{"kind"}),
		canceled:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_webhooks_canceled_total", Help: "Deliveries ended because their endpoint was deleted or disabled, by its kind."}, []string{"kind"}),
		unreadable: prometheus.NewCounter(prometheus.CounterOpts{Name: "weir_webhooks_unreadable_total", Help: "Records of the lane that could not be read and were left out."}),
	}
	if reg != nil {
		reg.MustRegister(m.owed, m.attempts, m.outcomes, m.seconds, m.moved, m.waiting, m.flying, m.canceled, m.unreadable,
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "weir_webhooks_stopped_partitions", Help: "Partitions whose deliveries stopped for good."},
				func() float64 { return float64(len(l.Problems())) }))
	}
	return m
}

func (m *metrics) attempted(out outcome, status string) {
	result := statusSucceeded
	if !out.succeeded() {
		result = out.failure
	}
	m.attempts.WithLabelValues(out.endpoint.Kind, result).Inc()
	m.outcomes.WithLabelValues(out.endpoint.Kind, status).Inc()
	m.seconds.WithLabelValues(out.endpoint.Kind).Observe(out.duration.Seconds())
}

// kindOf names an endpoint's kind; one that was deleted has none any more.
func kindOf(ep *Endpoint) string {
	if ep == nil || ep.Kind == "" {
		return "deleted"
	}
	return ep.Kind
}
