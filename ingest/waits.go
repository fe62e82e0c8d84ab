package ingest

import (
	"context"
	"sync"
	"time"
)

// waits gives appends their deadline. A begun append goes on when its client
// goes away, so that a repeat finds it: its context is no request's, and the
// requests of a moment can share one, which saves each a timer.
type waits struct {
	mu      sync.Mutex
	current context.Context
	until   time.Time // current is given out
}

// waitsShared is how long a context is given out, and so how much longer than
// asked for a wait may be.
const waitsShared = 100 * time.Millisecond

// context ends after d, or up to waitsShared later. Ask for the same d always.
func (w *waits) context(d time.Duration) context.Context {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current == nil || !now.Before(w.until) {
		w.until = now.Add(waitsShared)
		ctx, cancel := context.WithDeadline(context.Background(), w.until.Add(d))
		context.AfterFunc(ctx, cancel) // nobody ends it early: others may wait by it
		w.current = ctx
	}
	return w.current
}
