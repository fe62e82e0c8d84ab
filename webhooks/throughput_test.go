package webhooks

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// TestThroughput prints how many deliveries a dispatcher makes per second and per
// CPU-second of its own to receivers that answer at once. The receivers and the broker
// run in another process, on the same machine.
func TestThroughput(t *testing.T) {
	if os.Getenv("WEIR_SOAK") == "" {
		t.Skip("a measurement: set WEIR_SOAK=1")
	}
	const each, endpoints = 6000, 5
	b := startBroker(t)
	r := newReceiver(t, nil)
	o := orders{Name: "1", Brokers: b.Addrs(), Embedded: true, Endpoints: map[string]string{}}
	for i := range endpoints {
		o.Endpoints[fmt.Sprintf("ep_%d", i)] = r.URL
	}
	log, err := o.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close(t.Context()) })
	ids := decide(t, NewDecider(log, o.book(), nil), each, Occasion{Type: "deploy.succeeded"})
	d := o.start(t)
	r.next(t)
	began := time.Now()
	for range ids[1:] {
		r.next(t)
	}
	took := time.Since(began)
	d.stop(t)
	used := d.cmd.ProcessState.UserTime() + d.cmd.ProcessState.SystemTime()
	t.Logf("%d deliveries in %v: %.0f/s; %.1f CPU-seconds of the dispatcher: %.0f per CPU-second",
		len(ids), took.Round(time.Millisecond), float64(len(ids))/took.Seconds(), used.Seconds(), float64(len(ids))/used.Seconds())
}
