package webhooks

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestThroughput prints deliveries per second and per CPU-second to receivers that
// answer at once. The receivers and the broker run in this process too.
func TestThroughput(t *testing.T) {
	if os.Getenv("WEIR_SOAK") == "" {
		t.Skip("a measurement: set WEIR_SOAK=1")
	}
	const each, endpoints = 4000, 5
	log := openLog(t, startBroker(t))
	b := newBook()
	r := newReceiver(t, nil)
	for i := range endpoints {
		b.add(fmt.Sprintf("ep_%d", i), KindHTTP, r.URL)
	}
	ids := decide(t, NewDecider(log, b, nil), each, Occasion{Type: "deploy.succeeded"})
	before, began := cpu(t), time.Now()
	startLane(t, log, b)
	for range ids {
		r.next(t)
	}
	took, used := time.Since(began), cpu(t)-before
	t.Logf("%d deliveries in %v: %.0f/s, %.0f per CPU-second, sender, receiver and broker together",
		len(ids), took, float64(len(ids))/took.Seconds(), float64(len(ids))/used.Seconds())
}

func cpu(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
