package readmodel

import (
	"cmp"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/readmodel/tables"
)

func TestHistogram(t *testing.T) {
	p := newPortal(t)
	p.events(row{ts: noon}, row{ts: noon.Add(59 * time.Second), kind: "deploy"}, row{ts: noon.Add(time.Minute)},
		row{ts: noon.Add(3*time.Minute + time.Nanosecond), kind: "error"}, row{ts: noon, project: "prj_two"})
	buckets := items(p.get("one", "/api/events/histogram?interval=1m&from=2026-11-20T12:00:00Z&to=2026-11-20T12:05:00Z"))
	want := "[map[deploy:1 log:1] map[log:1] map[] map[error:1] map[]]"
	var types []any
	for _, b := range buckets {
		types = append(types, b["types"])
	}
	if fmt.Sprint(types) != want || names(buckets, "count") != "2 1 0 1 0" {
		t.Errorf("got %v, want %s", types, want)
	}
	if b := buckets[1]; b["from"] != "2026-11-20T12:01:00Z" || b["to"] != "2026-11-20T12:02:00Z" {
		t.Errorf("bounds %v", b)
	}
	open := items(p.get("one", "/api/events/histogram?buckets=10"))
	if len(open) == 0 || len(open) > 10 || open[0]["from"] != "2026-11-20T12:00:00Z" {
		t.Errorf("open range: %v", open)
	}
	if got := items(p.get("one", "/api/events/histogram?type=video")); len(got) != 0 {
		t.Errorf("nothing there: %v", got)
	}
	if got := items(p.get("one", "/api/events/histogram?from=2030-01-01T00:00:00Z")); len(got) != 0 {
		t.Errorf("beyond the last event: %v", got)
	}
	p.problem("one", "/api/events/histogram?interval=1s&from=2026-01-01T00:00:00Z&to=2026-11-20T12:05:00Z", 400, "invalid_parameter")
	p.problem("one", "/api/events/histogram?interval=1s&buckets=5", 400, "invalid_parameter")
	p.problem("one", "/api/events/histogram?limit=5", 400, "invalid_parameter")
}

// TestHistogramOfAllTime has events at both ends of what ts can be.
func TestHistogramOfAllTime(t *testing.T) {
	p := newPortal(t)
	p.events(row{ts: time.Unix(0, 0).UTC()}, row{ts: time.Date(2200, 12, 31, 23, 59, 59, 999999999, time.UTC)})
	buckets := items(p.get("one", "/api/events/histogram"))
	total := 0
	for _, b := range buckets {
		var n int
		fmt.Sscan(fmt.Sprint(b["count"]), &n)
		total += n
	}
	if total != 2 || len(buckets) > defaultBuckets {
		t.Errorf("%d events in %d buckets", total, len(buckets))
	}
}

func TestCutBuckets(t *testing.T) {
	first, last := time.Unix(0, 0).UTC(), time.Date(2200, 12, 31, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(rt *rapid.T) {
		from := time.Unix(0, rapid.Int64Range(0, last.UnixNano()-1).Draw(rt, "from")).UTC()
		to := time.Unix(0, rapid.Int64Range(from.UnixNano()+1, last.UnixNano()).Draw(rt, "to")).UTC()
		most := rapid.IntRange(1, maxBuckets).Draw(rt, "most")
		b := CutBuckets(from, to, 0, most)
		if b.Count < 1 || b.Count > max(most, 2) || b.First.After(from) || b.Start(b.Count).Before(to) || !b.Start(1).After(from) {
			rt.Fatalf("%v to %v in %d: %+v", from, to, most, b)
		}
	})
	if b := CutBuckets(first, last, 0, 60); b.Width != 5*365*day {
		t.Errorf("all of time: %+v", b)
	}
}

// measurement is a row of performance_values.
type measurement struct {
	project, metric, unit, service string
	ts                             time.Time
	value                          float64
}

func (p *portal) measurements(all ...measurement) {
	p.t.Helper()
	p.insert(tables.PerformanceValues(), len(all), func(i int) []any {
		m := all[i]
		return []any{cmp.Or(m.project, "prj_one"), m.metric, m.unit, m.service, m.ts, m.value, uint32(0), int64(i)}
	})
}

func TestPerformanceSeries(t *testing.T) {
	p := newPortal(t)
	var all []measurement
	for i := range 100 {
		all = append(all, measurement{metric: "latency", unit: "ms", service: "api", ts: noon.Add(time.Duration(i)), value: float64(i + 1)})
	}
	all = append(all, measurement{metric: "size", service: "web", ts: noon.Add(time.Minute), value: 1.5},
		measurement{project: "prj_other", metric: "latency", unit: "ms", ts: noon, value: 1e9})
	p.measurements(all...)
	got := items(p.get("one", "/api/performance/series?metric=latency&interval=1m"))
	if len(got) != 1 || fmt.Sprint(got[0]["count"]) != "100" || got[0]["unit"] != "ms" {
		t.Fatalf("%v", got)
	}
	for field, want := range map[string]float64{"p50": 50.5, "p95": 95.05, "p99": 99.01} {
		var v float64
		fmt.Sscan(fmt.Sprint(got[0][field]), &v)
		if math.Abs(v-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", field, v, want)
		}
	}
	if got := names(items(p.get("one", "/api/performance/series?interval=1m")), "metric"); got != "latency size" {
		t.Errorf("all metrics: %s", got)
	}
	if got := names(items(p.get("one", "/api/performance/series?service=web")), "metric"); got != "size" {
		t.Errorf("one service: %s", got)
	}
	if got := items(p.get("two", "/api/performance/series")); len(got) != 0 {
		t.Errorf("other project: %v", got)
	}
	if got := items(p.get("one", "/api/performance/series?from=2026-11-20T12:00:30Z&interval=1m")); names(got, "metric") != "size" || got[0]["unit"] != nil {
		t.Errorf("an open end: %v", got)
	}
}

// TestManyMetrics has more metrics than an answer: those with the most values are in it.
func TestManyMetrics(t *testing.T) {
	p := newPortal(t)
	var all []measurement
	for i := range maxMetrics + 5 {
		for range 1 + i/5 {
			all = append(all, measurement{metric: fmt.Sprintf("m%02d", i), ts: noon, value: 1})
		}
	}
	p.measurements(all...)
	got := items(p.get("one", "/api/performance/series?interval=1m"))
	if len(got) != maxMetrics || got[0]["metric"] != "m05" {
		t.Errorf("%d metrics: %s", len(got), names(got, "metric"))
	}
}
