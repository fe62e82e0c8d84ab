package integration

import (
	"slices"
	"testing"
	"time"

	generator "weir/internal/load"
)

// TestNoisyProjectSoak: a project that sends five times what it may does not raise the p99 of another
// one's batches by more than half. Both are measured in one run on one gateway, in turn, five times, and
// the middle of each is compared, so that neither a lucky nor an unlucky moment decides.
func TestNoisyProjectSoak(t *testing.T) {
	if !soak {
		t.Skip("latencies are compared on a machine that does nothing else: WEIR_SOAK=1")
	}
	g, who := startGateway(t, 2, "INGEST_RATE_LIMIT_EVENTS_PER_SECOND=20000", "INGEST_RATE_LIMIT_BATCHES_PER_SECOND=200")
	run := func(who credentials, rate float64, length time.Duration) (generator.Result, error) {
		return generator.Run(t.Context(), generator.Config{
			URL: g.base(), Key: who.APIKey, Secret: []byte(who.WebhookSecret), Batch: 100, Types: generator.Logs,
			Connections: 32, Seed: 1, Duration: length, Warmup: time.Second, Rate: rate,
		})
	}
	var quiet, loud []float64
	for range 5 {
		alone, err := run(who[0], 150, 6*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		noisy := make(chan generator.Result, 1)
		go func() {
			r, err := run(who[1], 1000, 8*time.Second)
			if err != nil {
				t.Error(err)
			}
			noisy <- r
		}()
		beside, err := run(who[0], 150, 6*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		n := <-noisy
		quiet, loud = append(quiet, alone.Latency.P99), append(loud, beside.Latency.P99)
		t.Logf("p99 alone %.2f ms, beside a noisy project %.2f ms; answers to the quiet one %v, to the noisy one %v",
			alone.Latency.P99, beside.Latency.P99, beside.Statuses, n.Statuses)
		if beside.Statuses["429"] > 0 || n.Statuses["429"] == 0 {
			t.Errorf("the noisy project should be limited, and it alone")
		}
	}
	slices.Sort(quiet)
	slices.Sort(loud)
	ratio := loud[2] / quiet[2]
	t.Logf("p99, the middle of five: alone %.2f ms, beside a noisy project %.2f ms: %.2f times", quiet[2], loud[2], ratio)
	if ratio > 1.5 {
		t.Errorf("the p99 of another project is %.2f times what it was", ratio)
	}
}
