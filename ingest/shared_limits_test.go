package ingest

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/eventlog"
	"weir/ingest/limits"
	"weir/internal/broker"
)

// shared makes the limiter of a gateway that shares limits through the log.
func shared(t *testing.T, gateway string, log *eventlog.Log) (*limits.Shared, func()) {
	t.Helper()
	s, err := limits.NewShared(limits.SharedConfig{Log: log, Gateway: gateway, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !s.Ready() {
		<-poll.C
	}
	return s, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// Two gateways on one log let through one rate together, under load on both; and
// when one is no more, the other gives the project all of it.
func TestRatesHoldOverGateways(t *testing.T) {
	b, err := broker.Start(t.Context(), broker.Config{Unsynced: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	const rate, batch = 2000, 20
	var portals []*portal
	for _, name := range []string{"one", "two"} {
		var stop func()
		p := startPortal(t, b, name, func(c *Config, log *eventlog.Log) {
			c.Rates = limits.Rates{EventsPerSecond: rate}
			var s *limits.Shared
			s, stop = shared(t, name, log)
			c.Limiter = s
		})
		end := p.stop
		p.stop = func() { stop(); end() }
		portals = append(portals, p)
	}
	var told pushes
	both := told.pushed(t, 3*time.Second, batch, portals...)
	portals[1].stop()
	alone := told.pushed(t, 2*time.Second, batch, portals[0])
	portals[0].stop()
	t.Logf("two gateways: %.0f events a second; one: %.0f; the rate is %d", both, alone, rate)
	// A bucket holds a second's worth at the beginning: 4 seconds' in 3. Then there is none left.
	if most := 1.1 * rate * 4 / 3; both > most {
		t.Errorf("%.0f events a second through two gateways, should be %.0f at most", both, most)
	}
	if alone > 1.15*rate {
		t.Errorf("%.0f events a second through one gateway of two, should be about %d", alone, rate)
	}
	told.justified(t, rate, batch)
}

// pushes are the requests of a test as its clients saw them.
type pushes struct {
	mu  sync.Mutex
	all []push
}

type push struct {
	began, ended time.Time
	taken        bool
}

// justified fails when a batch was refused though less than the rate had been taken
// just before: a bucket that is empty now has given out a second's worth within a
// second, on a machine of any speed. What other gateways took is heard of later; half
// a second covers that. A tenth, and a batch's debt, are allowed.
func (p *pushes) justified(t *testing.T, rate, batch int) {
	t.Helper()
	refused := 0
	for _, r := range p.all {
		if r.taken {
			continue
		}
		refused++
		events := 0
		for _, o := range p.all {
			if o.taken && o.ended.After(r.began.Add(-1500*time.Millisecond)) && o.began.Before(r.ended) {
				events += batch
			}
		}
		if least := rate*9/10 - batch; events < least {
			t.Fatalf("a batch was refused when %d events had been taken shortly before, should be %d at least", events, least)
		}
	}
	if refused == 0 {
		t.Error("nothing was refused: too little was sent to meet the limit")
	}
}

// pushed sends as much as it can through all gateways and returns accepted events a second.
func (p *pushes) pushed(t *testing.T, d time.Duration, batch int, to ...*portal) float64 {
	var events atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for _, at := range to {
		for range 2 {
			all.Go(func() {
				pause := time.NewTicker(2 * time.Millisecond)
				defer pause.Stop()
				for time.Since(began) < d {
					<-pause.C
					one := push{began: time.Now()}
					one.taken = send(t, post{body: logBatch(batch)}.request(t, at.url)).status == 200
					one.ended = time.Now()
					p.mu.Lock()
					p.all = append(p.all, one)
					p.mu.Unlock()
					if one.taken {
						events.Add(int64(batch))
					}
				}
			})
		}
	}
	all.Wait()
	return float64(events.Load()) / time.Since(began).Seconds()
}

// A project's own size limit holds in place of the service's, smaller or larger.
func TestOwnBatchBytes(t *testing.T) {
	who := everybody()
	small, large := int64(len(oneLog)), int64(DefaultMaxBatchBytes)+10
	own := func(key string, n int64) {
		c := who[key]
		c.BatchBytes = &n
		who[key] = c
	}
	own(keyA, small)
	own(keyB, large)
	d := newDoor(t, func(c *Config) { c.Directory = who; c.BytesInFlight = 64 << 20 })
	pad := func(n int64) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = ' '
		}
		copy(b, oneLog)
		return string(b)
	}
	for _, c := range []struct {
		p    post
		want int
	}{
		{post{body: oneLog}, 200},
		{post{body: pad(small + 1)}, 413},
		{post{body: pad(small + 1), chunked: true}, 413},
		{post{body: pad(large), bearer: keyB, secret: secretB}, 200},
		{post{body: pad(large + 1), bearer: keyB, secret: secretB}, 413},
	} {
		if got := d.do(t, c.p); got.status != c.want {
			t.Errorf("a body of %d bytes: %v, want %d", len(c.p.body), got.status, c.want)
		}
	}
}
