package ingest

import (
	"sync"
	"time"
)

// breaker sheds early while the log is known to be down: after a failed append
// it is shut for a moment, then lets one request through to try, and stays shut
// as long as those fail, each time longer. Any success opens it.
type breaker struct {
	now func() time.Time

	mu     sync.Mutex
	fails  int
	until  time.Time
	trying bool // a request was let through since the last failure
}

const (
	breakerFirst   = time.Second
	breakerLongest = 15 * time.Second
)

// wait is zero when a request may go on, else how long to stay away. When the
// time is over the first who asks goes on, and the others wait for its outcome
// or as long again.
func (b *breaker) wait() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fails == 0 {
		return 0
	}
	now := b.now()
	if left := b.until.Sub(now); left > 0 {
		return left
	}
	b.until = now.Add(b.pause())
	b.trying = true
	return 0
}

// failed notes an append that the log did not take in time.
func (b *breaker) failed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if b.fails > 0 && !b.trying && now.Before(b.until) {
		return // those that were under way together tell one thing, once
	}
	b.fails++
	b.trying = false
	b.until = now.Add(b.pause())
}

// succeeded notes that the log takes appends.
func (b *breaker) succeeded() {
	b.mu.Lock()
	b.fails = 0
	b.mu.Unlock()
}

func (b *breaker) pause() time.Duration {
	return min(breakerLongest, breakerFirst<<min(max(b.fails-1, 0), 4))
}
