package ingest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/eventlog"
	"weir/ingest/internal/logtest"
)

// Random runs: gateways that are killed and come back, appends that fail in
// either way or land late, clients that repeat until they have a 200, at any
// gateway. Time is that of the bubble, so leases cost nothing to wait for.
// Whatever happens, a key has one effect and one answer.
func TestRandomRuns(t *testing.T) {
	runs := 40
	if testing.Short() {
		runs = 8
	}
	for range runs {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomRun(t, seed) })
		})
	}
}

// lockedRand is a source of chance for many goroutines.
type lockedRand struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (l *lockedRand) IntN(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.IntN(n)
}

// site is one gateway's name; processes come and go there.
type site struct {
	name string
	mu   sync.Mutex
	door *door
}

func (s *site) now() *door {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.door
}

func randomRun(t *testing.T, seed uint64) {
	chance := &lockedRand{r: rand.New(rand.NewPCG(seed, 1))}
	log := logtest.New(3)
	sites := make([]*site, 3)
	for i := range sites {
		sites[i] = &site{name: fmt.Sprint("gateway-", i)}
		sites[i].restart(t, log, chance)
	}
	done := make(chan struct{})
	var killer, clients sync.WaitGroup
	killer.Go(func() { killAtRandom(t, log, sites, chance, done) })
	const keys, repeats = 6, 4
	bodies := make([][]string, keys)
	for k := range keys {
		bodies[k] = make([]string, repeats)
		for n := range repeats {
			clients.Go(func() { bodies[k][n] = untilAnswered(t, sites, chance, keyNumber(k)) })
		}
	}
	clients.Wait()
	close(done)
	killer.Wait()
	for _, s := range sites {
		s.door.stop()
	}
	for k, answers := range bodies {
		for _, a := range answers {
			if a != mixedAnswer {
				t.Errorf("key %d: %s", k, a)
			}
		}
	}
	once := map[string]int{}
	for _, r := range events(log) {
		once[fmt.Sprintf("%x/%d", r.Batch, r.Index)]++
	}
	for id, n := range once {
		if n != 1 {
			t.Errorf("event %s is in the log %d times", id, n)
		}
	}
	if len(once) != keys*4 {
		t.Errorf("%d events in the log, want %d", len(once), keys*4)
	}
}

func keyNumber(k int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", k) }

// restart puts a new process where one was.
func (s *site) restart(t *testing.T, log *logtest.Log, chance *lockedRand) {
	client := log.Client()
	client.Before = func(string) error {
		time.Sleep(time.Duration(chance.IntN(300)) * time.Millisecond)
		if chance.IntN(12) == 0 {
			return eventlog.ErrUnavailable
		}
		return nil
	}
	client.After = func(string) error {
		time.Sleep(time.Duration(chance.IntN(300)) * time.Millisecond)
		if chance.IntN(12) == 0 {
			return eventlog.ErrUnavailable
		}
		return nil
	}
	client.Late = func(string) time.Duration {
		if chance.IntN(12) == 0 {
			return time.Duration(1+chance.IntN(20_000)) * time.Millisecond
		}
		return 0
	}
	h, err := New(Config{Log: client, Directory: everybody(), Gateway: s.name})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.Run(ctx)
	}()
	<-client.Caught
	s.mu.Lock()
	defer s.mu.Unlock()
	s.door = &door{Handler: h, log: log, client: client, stop: func() { cancel(); <-ended }}
}

func killAtRandom(t *testing.T, log *logtest.Log, sites []*site, chance *lockedRand, done chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(chance.IntN(4000)) * time.Millisecond):
		}
		s := sites[chance.IntN(len(sites))]
		s.now().client.Kill()
		s.now().stop()
		time.Sleep(time.Duration(chance.IntN(3000)) * time.Millisecond)
		s.restart(t, log, chance)
	}
}

func untilAnswered(t *testing.T, sites []*site, chance *lockedRand, key string) string {
	for range 1000 {
		time.Sleep(time.Duration(chance.IntN(2000)) * time.Millisecond)
		if got := sites[chance.IntN(len(sites))].now().do(t, post{body: mixedBatch, key: key}); got.status == 200 {
			return got.body
		}
	}
	return "never answered"
}
