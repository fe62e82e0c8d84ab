package integration

import (
	"encoding/json"
	"runtime"
	"testing"
)

// TestBench: the benchmark measures what it starts, ours and the baseline, and a server that runs already.
func TestBench(t *testing.T) {
	s := serve(t)
	short := []string{"bench", "ingest", "--json", "--batch", "20", "--types", "mixed", "--connections", "2", "--duration", "2s", "--warmup", "300ms"}
	for name, args := range map[string][]string{
		"weir": {"--paced", "0.5"}, "baseline": {"--subject", "baseline"}, "target": {"--target", s.base(), "--data", s.data},
	} {
		o := weir(t, nil, append(short, args...)...)
		var r struct {
			Subject              string
			Events               int64
			EventsPerSecond      float64 `json:"events_per_second"`
			Statuses             map[string]int64
			Latency              map[string]float64
			CPUSecondsPerMillion *float64 `json:"cpu_seconds_per_million"`
			Paced                *struct{ Events int64 }
		}
		if err := json.Unmarshal([]byte(o.stdout), &r); err != nil || o.code != 0 {
			t.Fatalf("%s: exit code %d, %v: %s", name, o.code, err, o.stderr)
		}
		if r.Subject != name || r.Events == 0 || r.EventsPerSecond <= 0 || r.Statuses["200"]*20 != r.Events || r.Latency["p99_ms"] <= 0 {
			t.Errorf("%s: %s", name, o.stdout)
		}
		if runtime.GOOS == "linux" && r.CPUSecondsPerMillion == nil {
			t.Errorf("%s: the processor time is not measured: %s", name, o.stderr)
		}
		if name == "weir" && (r.Paced == nil || r.Paced.Events == 0) {
			t.Errorf("nothing was sent at a set rate: %s", o.stdout)
		}
	}
	if o := weir(t, nil, "bench", "ingest", "--batch", "0"); o.code != 2 {
		t.Errorf("an impossible batch ends with exit code %d: %s", o.code, o.stderr)
	}
}
