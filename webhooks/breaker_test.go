package webhooks

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// idleLane is a lane that is not running, for tests of one endpoint's state.
func idleLane(t *testing.T, b *book) *Lane {
	t.Helper()
	l, err := New(Config{Log: openLog(t, startBroker(t)), Directory: b, Health: b, Guard: loopback})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// An endpoint that takes many attempts at once and is away for a moment fails all of
// them at once. That breaks it once: it is not the same as failing that many probes,
// which would keep it waiting for ten minutes.
func TestAttemptsThatFailTogetherBreakOnce(t *testing.T) {
	b := newBook()
	b.add("ep_1", KindHTTP, "http://127.0.0.1:1")
	e := idleLane(t, b).endpoint("ep_1")
	failed := outcome{answer: answer{failure: FailureStatus}, started: time.Now()}
	attempt := func(n int) {
		t.Helper()
		var entered []int
		for range n {
			_, breaks, err := e.enter()
			if err != nil {
				t.Fatal(err)
			}
			entered = append(entered, breaks)
		}
		for _, breaks := range entered {
			e.leave(1, breaks, failed)
		}
	}
	attempt(mostLimit)
	if pause := time.Until(e.broken); pause > breakFirst*5/4 {
		t.Errorf("%d attempts failed at once, and nothing is sent for %v; want about %v", mostLimit, pause, breakFirst)
	}
	attempt(1) // the probe
	if pause := time.Until(e.broken); pause < 2*breakFirst-time.Second || pause > 2*breakFirst*5/4 {
		t.Errorf("a probe failed, and nothing is sent for %v; want about %v", pause, 2*breakFirst)
	}
}

// What becomes due while a broken endpoint is probed goes out as soon as the probe
// succeeded, and does not wait as long again as the endpoint was left alone.
func TestProbeOpensTheWayForTheRest(t *testing.T) {
	log := openLog(t, startBroker(t))
	b := newBook()
	r := newReceiver(t, nil)
	b.add("ep_1", KindHTTP, r.URL)
	const n = 10
	l := startLane(t, log, b)
	e := l.endpoint("ep_1")
	e.mu.Lock()
	e.failures, e.limit, e.broken = breakAfter, 1, time.Now()
	e.mu.Unlock()
	await(t, log, decide(t, l.Decider(), n, Occasion{Type: "deploy.succeeded"})...)
	if moved := testutil.ToFloat64(l.metrics.moved.WithLabelValues(movedBroken)); moved != 0 {
		t.Errorf("%v of %d deliveries had to wait in a delay topic", moved, n)
	}
}
