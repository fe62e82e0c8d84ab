package ingest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestMetrics(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	d := newDoor(t, func(c *Config) { c.Registerer = reg })
	d.do(t, post{body: mixedBatch, key: someKey})
	d.do(t, post{body: mixedBatch, key: someKey}) // a repeat counts no events
	d.do(t, post{body: `{"events":[{"type":"log \"x: y\"","ts":"","data":{}}]}`})
	d.do(t, post{body: oneLog, bearer: "-"})
	want := `
# HELP weir_ingest_events_total Events of answered batches, by type and outcome (accepted or rejected).
# TYPE weir_ingest_events_total counter
weir_ingest_events_total{outcome="accepted",type="cost"} 1
weir_ingest_events_total{outcome="accepted",type="deploy"} 1
weir_ingest_events_total{outcome="accepted",type="log"} 2
weir_ingest_events_total{outcome="rejected",type="audit"} 1
weir_ingest_events_total{outcome="rejected",type="unknown"} 1
# HELP weir_ingest_rejections_total Rejected events by type and problem.
# TYPE weir_ingest_rejections_total counter
weir_ingest_rejections_total{problem="required",type="audit"} 1
weir_ingest_rejections_total{problem="unknown value",type="unknown"} 1
# HELP weir_ingest_requests_total Batches answered, by status.
# TYPE weir_ingest_requests_total counter
weir_ingest_requests_total{status="200"} 3
weir_ingest_requests_total{status="401"} 1
# HELP weir_ingest_replays_total Requests answered from the receipt of their idempotency key.
# TYPE weir_ingest_replays_total counter
weir_ingest_replays_total 1
# HELP weir_ingest_requests_in_flight Batches begun and not yet answered.
# TYPE weir_ingest_requests_in_flight gauge
weir_ingest_requests_in_flight 0
# HELP weir_ingest_bytes_in_flight Bytes of bodies in memory, as reserved.
# TYPE weir_ingest_bytes_in_flight gauge
weir_ingest_bytes_in_flight 0
`
	for _, typ := range []string{"audit", "config", "error", "feature_flag", "performance", "repository", "tenant", "trace", "video", "webhook"} {
		want = strings.Replace(want, "# TYPE weir_ingest_events_total counter\n",
			"# TYPE weir_ingest_events_total counter\nweir_ingest_events_total{outcome=\"accepted\",type=\""+typ+"\"} 0\n", 1)
	}
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "weir_ingest_events_total", "weir_ingest_rejections_total",
		"weir_ingest_requests_total", "weir_ingest_replays_total", "weir_ingest_requests_in_flight", "weir_ingest_bytes_in_flight"); err != nil {
		t.Error(err)
	}
}

// Clients can't make label values.
func TestProblemsAreBounded(t *testing.T) {
	m := newMetrics(nil, &budget{})
	for i := range 1000 {
		m.problem(fmt.Sprintf("data.x: made up %d", i))
		m.problem(fmt.Sprintf(`type: unknown value "a: %d"`, i))
		m.problem(fmt.Sprintf(`data.metadata.k%d: duplicate name`, i))
	}
	if len(m.problems) > mostProblems || m.problem("data.y: made up 5000") != "other" {
		t.Errorf("%d problems", len(m.problems))
	}
}

func TestProblemOf(t *testing.T) {
	for reason, want := range map[string]string{
		"data.actor: required":                     "required",
		`type: unknown value "foo"`:                "unknown value",
		`type: unknown value "a: b"`:               "unknown value",
		"ts: must be an ISO 8601 timestamp in UTC": "must be an ISO 8601 timestamp in UTC",
		"data.metadata.a: b: duplicate name":       "duplicate name",
		"event: must be an object":                 "must be an object",
		`data.x: must be one of "a", "b"`:          "must be one of",
		"no colon in it":                           "no colon in it",
	} {
		if got := problemOf(reason); got != want {
			t.Errorf("%s: got %q, want %q", reason, got, want)
		}
	}
}
