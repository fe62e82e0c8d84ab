package ingest

import (
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"weir/schemas"
)

// metrics of the door. Every label has few values, whatever clients send.
type metrics struct {
	requests *prometheus.CounterVec
	answered prometheus.Counter // requests with the status 200
	seconds  prometheus.Histogram
	bytes    prometheus.Counter
	current  prometheus.Gauge
	accepted [typeCount]prometheus.Counter
	events   *prometheus.CounterVec
	rejected *prometheus.CounterVec
	captures *prometheus.CounterVec

	mu       sync.Mutex
	problems map[string]bool // label values given out so far
}

func newMetrics(reg prometheus.Registerer, room *budget) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_ingest_requests_total", Help: "Batches answered, by status.",
		}, []string{"status"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "weir_ingest_request_seconds", Help: "Time from a batch's headers to its answer.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20},
		}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_ingest_body_bytes_total", Help: "Bytes of bodies read, as sent.",
		}),
		current: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_ingest_requests_in_flight", Help: "Batches begun and not yet answered.",
		}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_ingest_events_total", Help: "Events of answered batches, by type and outcome (accepted or rejected).",
		}, []string{"type", "outcome"}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_ingest_rejections_total", Help: "Rejected events by type and problem.",
		}, []string{"type", "problem"}),
		captures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_errors_captures_total", Help: "Captured exceptions by outcome: accepted, refused or failed.",
		}, []string{"outcome"}),
		problems: map[string]bool{},
	}
	m.answered = m.requests.WithLabelValues("200")
	for i, t := range schemas.Types() {
		m.accepted[i] = m.events.WithLabelValues(t.String(), "accepted")
	}
	if reg != nil {
		reg.MustRegister(m.requests, m.seconds, m.bytes, m.current, m.events, m.rejected, m.captures,
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "weir_ingest_bytes_in_flight", Help: "Bytes of bodies in memory, as reserved.",
			}, func() float64 { return float64(room.used.Load()) }),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "weir_ingest_bytes_in_flight_limit", Help: "Bytes of bodies that may be in memory.",
			}, func() float64 { return float64(room.limit) }))
	}
	return m
}

func (m *metrics) started() { m.current.Inc() }

// finished counts a request that was answered, or that panicked (status 500).
func (m *metrics) finished(q *request) {
	m.current.Dec()
	status := q.status
	if status == 0 {
		status = 500
	}
	if status == 200 {
		m.answered.Inc()
	} else {
		m.requests.WithLabelValues(strconv.Itoa(status)).Inc()
	}
	m.seconds.Observe(q.h.cfg.Now().Sub(q.start).Seconds())
	m.bytes.Add(float64(len(q.sent)))
	if q.grouping != nil {
		m.captures.WithLabelValues(captureOutcome(status)).Inc()
	}
	if status != 200 || q.answered {
		return // a repeat's events were counted the first time
	}
	for _, t := range q.types {
		m.accepted[t].Add(float64(len(q.sets[t].values)))
	}
	for _, k := range tallied(q.batch.Rejected) {
		m.reject(k)
		if q.h.cfg.Rejections != nil {
			q.h.cfg.Rejections.Note(q.caller.ProjectID, k.kind, k.reason, k.count, k.raw)
		}
	}
}

func captureOutcome(status int) string {
	switch {
	case status == 200:
		return "accepted"
	case status < 500:
		return "refused"
	}
	return "failed"
}

func (m *metrics) reject(k tally) {
	t := k.kind
	if t == "" {
		t = "unknown"
	}
	m.events.WithLabelValues(t, "rejected").Add(float64(k.count))
	m.rejected.WithLabelValues(t, m.problem(k.reason)).Add(float64(k.count))
}

// tally is how many events of a batch were rejected for one reason.
type tally struct {
	kind, reason string
	count        int
	raw          []byte // of the last one
}

// mostTallies bounds the reasons of a batch that are told apart: a batch can
// have millions of malformed events, each with a reason of its own. The rest
// count for the last of them.
const mostTallies = 100

// tallied sums a batch's rejections up by type and reason.
func tallied(all []schemas.Rejection) (tallies []tally) {
	type kind struct{ kind, reason string }
	var at map[kind]int
	last := -1
	for i := range all {
		r := &all[i]
		if last < 0 || tallies[last].kind != r.Type || tallies[last].reason != r.Reason {
			if at == nil {
				at = map[kind]int{}
			}
			k, known := at[kind{r.Type, r.Reason}]
			if !known && len(tallies) < mostTallies {
				k, known = len(tallies), true
				tallies = append(tallies, tally{kind: r.Type, reason: r.Reason})
				at[kind{r.Type, r.Reason}] = k
			}
			if !known {
				k = mostTallies - 1
			}
			last = k
		}
		tallies[last].count++
		tallies[last].raw = r.Raw
	}
	return tallies
}

// mostProblems bounds the values of the label problem; there are about twenty.
const mostProblems = 64

// problem is what is wrong, without the path and without values, both of which
// clients make up.
func (m *metrics) problem(reason string) string {
	p := problemOf(reason)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.problems[p] {
		return p
	}
	if len(m.problems) >= mostProblems {
		return "other"
	}
	p = strings.Clone(p)
	m.problems[p] = true
	return p
}

// problemOf cuts "data.level: must be a string" to "must be a string" and
// `type: unknown value "foo"` to "unknown value". A path may hold ": " itself,
// but no problem does outside of a quoted value.
func problemOf(reason string) string {
	if at := strings.Index(reason, `: unknown value "`); at >= 0 {
		return "unknown value"
	}
	if at := strings.LastIndex(reason, ": "); at >= 0 {
		reason = reason[at+2:]
	}
	if at := strings.IndexByte(reason, '"'); at >= 0 {
		reason = reason[:at]
	}
	return strings.TrimSpace(reason)
}
