package webhooks

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/webhooks/signing"
)

// Of many endpoints one in a hundred hangs until the timeout. The p99 of the others,
// from the decision to the receiver, stays within twice what it is when none hangs, in
// the same run. WEIR_SOAK has the full scale: 10,000 endpoints.
func TestOneInAHundredHangs(t *testing.T) {
	endpoints, rate, lasting, slack := 300, 100, 3*time.Second, 100*time.Millisecond
	if os.Getenv("WEIR_SOAK") != "" {
		endpoints, rate, lasting, slack = 10_000, 300, 30*time.Second, 0
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	log := openLog(t, startBroker(t))
	b := newBook()
	var hangs atomic.Bool
	release := make(chan struct{})
	arrived := &arrivals{at: map[string]time.Time{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client went away
		if r.URL.Path == "/hang" && hangs.Load() {
			select {
			case <-r.Context().Done():
			case <-release:
			}
			return
		}
		arrived.take(r.Header.Get(signing.HeaderID))
	}))
	t.Cleanup(server.Close)
	for i := range endpoints {
		path := "/fine"
		if i%100 == 0 {
			path = "/hang"
		}
		b.add(fmt.Sprintf("ep_%d", i), KindHTTP, server.URL+path)
	}
	l := startLane(t, log, b, func(cfg *Config) { cfg.AttemptTime = attemptTime })
	t.Cleanup(func() { close(release) })
	phase := func(hanging bool) time.Duration {
		hangs.Store(hanging)
		sent := sendAtARate(t, l.Decider(), random, endpoints, rate, lasting)
		return arrived.p99(t, sent)
	}
	phase(false) // connections are made, endpoints get known
	without := phase(false)
	with := phase(true)
	t.Logf("%d endpoints, %d deliveries per second: p99 of those that answer %v, and %v while one in a hundred hangs for %v: %.2f times",
		endpoints, rate, without, with, attemptTime, with.Seconds()/without.Seconds())
	if with > 2*without+slack {
		t.Errorf("the p99 grew from %v to %v", without, with)
	}
}

// sendAtARate owes deliveries to endpoints by chance, evenly over time, and returns
// when each was decided, but for those that may hang.
func sendAtARate(t *testing.T, d *Decider, random *rand.Rand, endpoints, rate int, lasting time.Duration) map[string]time.Time {
	t.Helper()
	sent := map[string]time.Time{}
	var mu sync.Mutex
	var deciding sync.WaitGroup
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for range int(lasting.Seconds() * float64(rate)) {
		<-tick.C
		i := random.IntN(endpoints)
		deciding.Go(func() {
			at := time.Now()
			made, err := d.Decide(t.Context(), Occasion{Project: "prj", Type: "load", At: at, Cause: randomID(), Endpoint: fmt.Sprintf("ep_%d", i), Payload: json.RawMessage(`{"n":1}`)})
			if err != nil {
				t.Errorf("decide: %v", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if i%100 != 0 {
				sent[made[0].ID] = at
			}
		})
	}
	deciding.Wait()
	return sent
}

// arrivals are when deliveries came first.
type arrivals struct {
	mu sync.Mutex
	at map[string]time.Time
}

func (a *arrivals) take(id string) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, had := a.at[id]; !had {
		a.at[id] = now
	}
}

// p99 waits until all have arrived, and returns how long the slowest but one in a hundred took.
func (a *arrivals) p99(t *testing.T, sent map[string]time.Time) time.Duration {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		var took []time.Duration
		a.mu.Lock()
		for id, at := range sent {
			if came, ok := a.at[id]; ok {
				took = append(took, came.Sub(at))
			}
		}
		a.mu.Unlock()
		if len(took) == len(sent) {
			slices.Sort(took)
			return took[len(took)*99/100]
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d deliveries arrived", len(took), len(sent))
		}
		time.Sleep(10 * time.Millisecond)
	}
}
