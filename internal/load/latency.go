package load

import (
	"slices"
	"time"
)

// Latency in milliseconds, from when a batch was sent (closed loop) or due (open
// loop) to the end of its answer.
type Latency struct {
	P50  float64 `json:"p50_ms"`
	P90  float64 `json:"p90_ms"`
	P99  float64 `json:"p99_ms"`
	P999 float64 `json:"p999_ms"`
	Max  float64 `json:"max_ms"`
}

func latencyOf(all []time.Duration) Latency {
	if len(all) == 0 {
		return Latency{}
	}
	slices.Sort(all)
	at := func(q float64) float64 {
		return float64(all[min(len(all)-1, int(q*float64(len(all))))].Microseconds()) / 1000
	}
	return Latency{P50: at(.5), P90: at(.9), P99: at(.99), P999: at(.999), Max: at(1)}
}
