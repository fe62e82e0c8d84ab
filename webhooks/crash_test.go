package webhooks

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"weir/eventlog"
)

// mortal is one life of a lane: its log and Directory stop working at a chosen
// moment, in one of two ways: an append that was not applied, or one that was.
type mortal struct {
	Log
	*book
	mu      sync.Mutex
	left    int  // appends and steps until death; < 0: immortal
	applied bool // the last append is applied
	dead    bool
	died    chan struct{}
	flying  map[string]bool // attempts begun whose outcome is not in the log
	atDeath map[string]bool
	flaky   *rand.Rand // appends fail now and then, in both ways, without death
}

func newMortal(log Log, b *book, left int, applied bool) *mortal {
	return &mortal{Log: log, book: b, left: left, applied: applied, died: make(chan struct{}), flying: map[string]bool{}}
}

// tick counts down; true when this is the moment.
func (m *mortal) tick() (now, dead bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead || m.left < 0 {
		return false, m.dead
	}
	if m.left--; m.left >= 0 {
		return false, false
	}
	m.dead = true
	m.atDeath = map[string]bool{}
	for id := range m.flying {
		m.atDeath[id] = true
	}
	close(m.died)
	return true, true
}

func (m *mortal) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *mortal) inFlight() map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.atDeath
}

var errDead = fmt.Errorf("%w: the process is dead", eventlog.ErrClosed)

func (m *mortal) Append(ctx context.Context, topic string, partition int, s eventlog.Set) (int64, error) {
	now, dead := m.tick()
	if now && m.applied {
		_, _ = m.Log.Append(context.WithoutCancel(ctx), topic, partition, s)
	}
	if dead {
		return 0, errDead
	}
	m.mu.Lock()
	fault := m.flaky != nil && m.flaky.IntN(5) == 0
	applied := fault && m.flaky.IntN(2) == 0
	m.mu.Unlock()
	if fault && !applied {
		return 0, eventlog.ErrUnavailable
	}
	first, err := m.Log.Append(ctx, topic, partition, s)
	if applied {
		return 0, eventlog.ErrUnavailable
	}
	return first, err
}

func (m *mortal) Fetch(ctx context.Context, topic string, partition int, offset int64, maxBytes int, maxWait time.Duration) (eventlog.Chunk, error) {
	if m.isDead() {
		return eventlog.Chunk{}, errDead
	}
	return m.Log.Fetch(ctx, topic, partition, offset, maxBytes, maxWait)
}

func (m *mortal) Endpoint(id string) (*Endpoint, bool, error) {
	if m.isDead() {
		return nil, true, errors.New("the process is dead")
	}
	return m.book.Endpoint(id)
}

func (m *mortal) step(name, delivery string) {
	m.mu.Lock()
	switch {
	case m.dead && name == "before attempt": // it was on its way when the others stopped
		m.atDeath[delivery] = true
	case m.dead:
	case name == "before attempt":
		m.flying[delivery] = true
	case name == "recorded":
		delete(m.flying, delivery)
	}
	m.mu.Unlock()
	m.tick()
}

// live runs one life until it ends or everything is delivered.
func (m *mortal) live(t *testing.T, done <-chan struct{}) {
	l := startLane(t, m, m.book, func(cfg *Config) {
		cfg.Directory, cfg.step, cfg.crashed = m, m.step, m.isDead
	})
	defer l.stop()
	select {
	case <-m.died:
	case <-done:
	case <-time.After(10 * patience):
		t.Error("neither dead nor done")
	}
}

// Whatever moment a dispatcher is killed at, nothing is lost, no attempt that is in
// the log is made again, and what the receiver got beyond the history was in flight at a kill.
func TestKilledAnywhere(t *testing.T) {
	deliveries, endpoints, life := 150, 5, 400
	if n, _ := strconv.Atoi(os.Getenv("WEIR_SOAK")); n > 0 { // WEIR_SOAK=20000 is 100,000 deliveries
		deliveries, life = max(n, deliveries), max(10*n, life)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	log := openLog(t, startBroker(t))
	b := newBook()
	var mu sync.Mutex
	received, succeeded, all := map[string]int{}, map[string]bool{}, make(chan struct{})
	r := newReceiver(t, nil)
	r.answer = func(w http.ResponseWriter, req *http.Request, n int) {
		id := req.Header.Get("webhook-id")
		mu.Lock()
		defer mu.Unlock()
		received[id]++
		if int(id[len(id)-1])%3 == 0 && n < 2 {
			w.WriteHeader(503)
			return
		}
		if !succeeded[id] {
			succeeded[id] = true
			if len(succeeded) == deliveries*endpoints {
				close(all)
			}
		}
	}
	for i := range endpoints {
		b.add(fmt.Sprintf("ep_%d", i), KindHTTP, r.URL)
	}
	ids := decide(t, NewDecider(log, b, nil), deliveries, Occasion{Type: "deploy.succeeded"})
	inFlight := map[string]int{}
	kills := 0
	for done := false; !done; {
		m := newMortal(log, b, random.IntN(life), random.IntN(2) == 0)
		m.live(t, all)
		for id := range m.inFlight() {
			inFlight[id]++
		}
		select {
		case <-all:
			done = true
		default:
			kills++
		}
		if t.Failed() {
			return
		}
	}
	last := newMortal(log, b, -1, false)
	l := startLane(t, last, b)
	byID := await(t, log, ids...)
	l.stop()
	t.Logf("%d kills", kills)
	if kills == 0 {
		t.Error("nothing was killed")
	}
	mu.Lock()
	defer mu.Unlock()
	repeats := 0
	for _, id := range ids {
		numbers := map[int]bool{}
		for _, a := range byID[id] {
			if numbers[a.Attempt] {
				t.Errorf("%s: attempt %d is twice in the history", id, a.Attempt)
			}
			numbers[a.Attempt] = true
		}
		if extra := received[id] - len(byID[id]); extra < 0 || extra > inFlight[id] {
			t.Errorf("%s: received %d times, %d in the history, in flight at %d kills", id, received[id], len(byID[id]), inFlight[id])
		} else {
			repeats += extra
		}
		if !succeeded[id] {
			t.Errorf("%s was lost", id)
		}
	}
	t.Logf("%d deliveries, %d repeated", len(ids), repeats)
}

// A log that fails in both ways, and heals, costs nothing and doubles nothing.
func TestFlakyLog(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	log := openLog(t, startBroker(t))
	b := newBook()
	// An endpoint is sent fewer deliveries than break it, however many fail in a row.
	const each, endpoints = breakAfter - 1, 15
	var mu sync.Mutex
	random, fails := rand.New(rand.NewPCG(seed, 1)), map[string]bool{}
	r := newReceiver(t, func(w http.ResponseWriter, req *http.Request, n int) {
		mu.Lock()
		defer mu.Unlock()
		id := req.Header.Get("webhook-id")
		if n == 0 && random.IntN(3) == 0 {
			fails[id] = true
			w.WriteHeader(503)
		}
	})
	for i := range endpoints {
		b.add(fmt.Sprintf("ep_%d", i), KindHTTP, r.URL)
	}
	ids := decide(t, NewDecider(log, b, nil), each, Occasion{Type: "deploy.succeeded"})
	m := newMortal(log, b, -1, false)
	m.flaky = rand.New(rand.NewPCG(seed, 0))
	l := startLane(t, m, b)
	byID := await(t, log, ids...)
	l.stop()
	for _, id := range ids {
		want := 1
		if fails[id] {
			want = 2
		}
		if n := len(byID[id]); n != want || r.counts[id] != want {
			t.Errorf("%s: %d attempts in the history, %d received; want %d of each", id, n, r.counts[id], want)
		}
	}
}
