package webhooks

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Bounds of one endpoint's lane, in this process.
const (
	firstLimit  = 4  // attempts at once to an endpoint nothing is known of
	mostLimit   = 64 // and to one that answers well
	strangers   = 256
	mostWaiting = 4096
	waitGoal    = 5 * time.Second // more than it can send in this time is moved

	// After breakAfter failures in a row nothing is sent for breakFirst, and then one
	// attempt at a time until one succeeds; each that fails doubles the pause, up to
	// breakLongest.
	breakAfter   = 5
	breakFirst   = 10 * time.Second
	breakLongest = 10 * time.Minute

	shortestMove = time.Second
)

// Why a delivery was moved to a delay topic without an attempt.
const (
	movedBusy    = "busy"    // more waits than the endpoint takes
	movedBroken  = "breaker" // the endpoint fails
	movedLimited = "rate"    // its rate is used up
)

// endpointLane sends to one endpoint: a few attempts at once, more while they
// succeed. What it cannot send soon it refuses, so that nothing piles up here and
// nobody else waits.
type endpointLane struct {
	lane *Lane
	id   string
	used time.Time // guarded by Lane.mu

	mu       sync.Mutex
	queue    []*task
	kind     string // of the endpoint, when it was last offered something
	workers  int
	limit    float64 // attempts at once
	proven   bool    // an attempt succeeded since the last failure
	failures int     // in a row
	broken   time.Time
	breaks   int           // how often it broke
	failing  time.Time     // since when every attempt failed
	latency  time.Duration // of an attempt, smoothed
	limiter  *rate.Limiter
	versions map[int]int   // attempts under way by endpoint version
	ended    chan struct{} // closed and replaced when an attempt ends while somebody waits
}

func newEndpointLane(l *Lane, id string) *endpointLane {
	return &endpointLane{lane: l, id: id, limit: firstLimit, versions: map[int]int{}}
}

func (e *endpointLane) idle() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.workers == 0 && len(e.queue) == 0
}

// offer takes a delivery, or says why not and when to offer it again.
func (e *endpointLane) offer(t *task, ep *Endpoint) (wait time.Duration, reason string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if e.failures >= breakAfter {
		if open := e.broken.Sub(now); open > 0 {
			return spread(open), movedBroken
		}
		if e.workers+len(e.queue) >= e.room() { // one probes, and a few wait for what it finds
			return spread(breakFirst), movedBroken
		}
	}
	e.setRate(ep.Rate)
	if e.workers+len(e.queue) >= e.room() {
		reason = movedBusy
		if e.limiter != nil {
			reason = movedLimited
		}
		return spread(max(e.expected(), shortestMove)), reason
	}
	e.queue, e.kind = append(e.queue, t), kindOf(ep)
	e.wait(1)
	e.hire()
	return 0, ""
}

// wait counts what waits.
func (e *endpointLane) wait(n int) {
	if n != 0 {
		e.lane.metrics.waiting.WithLabelValues(e.kind).Add(float64(n))
	}
}

// spread lengthens a wait at random, so that what waits does not come back at once.
func spread(d time.Duration) time.Duration {
	return d + time.Duration(rand.Float64()*float64(d)/4)
}

// room is how many deliveries may be here.
func (e *endpointLane) room() int {
	n := mostWaiting
	switch {
	case e.failures > 0:
		n = 16
	case !e.proven:
		n = strangers
	case e.latency > 0:
		n = int(e.limit * float64(waitGoal) / float64(e.latency))
	}
	if e.limiter != nil {
		n = min(n, int(float64(e.limiter.Limit())*waitGoal.Seconds())+1)
	}
	return min(max(n, 16, int(e.limit)), mostWaiting)
}

// expected is how long what is here will take.
func (e *endpointLane) expected() time.Duration {
	each := e.latency
	if each == 0 {
		each = 100 * time.Millisecond
	}
	d := time.Duration(float64(len(e.queue)+1) * float64(each) / e.limit)
	if e.limiter != nil {
		d = max(d, time.Duration(float64(len(e.queue)+1)/float64(e.limiter.Limit())*float64(time.Second)))
	}
	return min(d, 5*time.Minute)
}

func (e *endpointLane) setRate(perSecond float64) {
	switch {
	case perSecond <= 0:
		e.limiter = nil
	case e.limiter == nil:
		e.limiter = rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
	case float64(e.limiter.Limit()) != perSecond:
		e.limiter.SetLimit(rate.Limit(perSecond))
		e.limiter.SetBurst(max(1, int(perSecond)))
	}
}

// hire starts a worker when one more may run. mu is held.
func (e *endpointLane) hire() {
	if e.workers < int(e.limit) && len(e.queue) > 0 && (e.failures < breakAfter || e.workers == 0) {
		e.workers++
		e.lane.workers.Go(e.work)
	}
}

// work sends until nothing waits or fewer workers may run.
func (e *endpointLane) work() {
	for {
		t, pause := e.pop()
		if t == nil {
			return
		}
		if !e.begin(t) {
			t.drop()
			continue
		}
		if pause > 0 && !sleep(t.turn.reading, pause) || t.turn.reading.Err() != nil || !t.turn.assignment.Held() {
			t.drop()
			t.turn.busy.Done()
			continue
		}
		e.send(t)
	}
}

// begin counts the task as work that its turn must wait for, unless the turn ended.
func (e *endpointLane) begin(t *task) bool {
	t.turn.gate.RLock()
	defer t.turn.gate.RUnlock()
	if t.turn.closed {
		return false
	}
	t.turn.busy.Add(1)
	return true
}

func (e *endpointLane) pop() (t *task, pause time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) == 0 || e.workers > max(int(e.limit), 1) {
		e.workers--
		return nil, 0
	}
	t = e.queue[0]
	e.queue[0] = nil
	e.queue = e.queue[1:]
	e.wait(-1)
	if e.limiter != nil {
		pause = e.limiter.Reserve().Delay()
	}
	return t, pause
}

// send makes one attempt and hands on what came of it. The worker is free then; the
// outcome is written beside it.
func (e *endpointLane) send(t *task) {
	l := e.lane
	release := func() { t.drop(); t.turn.busy.Done() }
	if l.flights.Acquire(t.turn.reading, 1) != nil {
		release()
		return
	}
	ep, breaks, err := e.enter()
	if ep == nil {
		l.flights.Release(1)
		if err == nil {
			t.later(func(ctx context.Context) error { return l.cancel(ctx, t, nil) })
			t.turn.busy.Done()
			return
		}
		release()
		return
	}
	l.cfg.step("before attempt", t.owed.Delivery)
	flying := l.metrics.flying.WithLabelValues(ep.Kind)
	flying.Inc()
	out := l.try(t.turn.finishing, t.rec, t.owed, ep)
	flying.Dec()
	l.flights.Release(1)
	moved := e.leave(ep.Version, breaks, out)
	for _, m := range moved {
		if !e.begin(m) { // of a turn that is over
			m.drop()
			continue
		}
		m.later(func(ctx context.Context) error { return l.move(ctx, m, l.cfg.Now().Add(spread(breakFirst))) })
		m.turn.busy.Done()
	}
	if out.aborted {
		release()
		return
	}
	t.later(func(ctx context.Context) error { return l.settle(ctx, t, out) })
	t.turn.busy.Done()
}

// enter reads the endpoint as it is now and counts the attempt under its version,
// both under the lock that await takes. leave wants breaks back.
func (e *endpointLane) enter() (ep *Endpoint, breaks int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ep, known, err := e.lane.cfg.Directory.Endpoint(e.id)
	if err != nil || !known || !ep.Enabled {
		return nil, 0, err
	}
	e.versions[ep.Version]++
	return ep, e.breaks, nil
}

// leave learns from an attempt and returns the deliveries that must go elsewhere,
// because the endpoint broke.
func (e *endpointLane) leave(version, breaks int, out outcome) (moved []*task) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.versions[version]--; e.versions[version] == 0 {
		delete(e.versions, version)
	}
	if e.ended != nil {
		close(e.ended)
		e.ended = nil
	}
	if out.aborted {
		return nil
	}
	if e.latency == 0 {
		e.latency = out.duration
	}
	e.latency += (out.duration - e.latency) / 8
	if out.succeeded() {
		e.failures, e.failing, e.proven = 0, time.Time{}, true
		e.limit = min(e.limit+1, mostLimit)
		e.hire()
		return nil
	}
	if e.failures >= breakAfter && breaks != e.breaks {
		return nil // it began before the endpoint broke: it says nothing new
	}
	e.fail(out)
	if e.failures >= breakAfter {
		moved, e.queue = e.queue, nil
		e.wait(-len(moved))
	}
	return moved
}

func (e *endpointLane) fail(out outcome) {
	e.failures++
	e.proven = false
	e.limit = max(1, e.limit/2)
	if e.failing.IsZero() {
		e.failing = out.started
	}
	if over := e.failures - breakAfter; over >= 0 {
		e.breaks++
		e.broken = time.Now().Add(spread(min(breakFirst<<min(over, 10), breakLongest)))
	}
}

// failingSince is when the current row of failures began, as far as this process knows.
func (e *endpointLane) failingSince() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failing
}

// await returns once no attempt of an older version is under way.
func (e *endpointLane) await(ctx context.Context, version int) {
	for {
		e.mu.Lock()
		older := false
		for v := range e.versions {
			older = older || v < version
		}
		if older && e.ended == nil {
			e.ended = make(chan struct{})
		}
		ended := e.ended
		e.mu.Unlock()
		if !older {
			return
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
	}
}
