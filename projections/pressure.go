package projections

import (
	"context"
	"sync/atomic"
	"time"
)

// pressure tells the generations that are being built how the live ones do in
// this process, so that a rebuild takes what live folding leaves.
type pressure struct {
	last atomic.Int64 // when a live partition was last found late, in nanoseconds
}

const (
	// staleAfter: a live record that is visible later than this was held up.
	staleAfter = 700 * time.Millisecond
	// pressedFor is how long a rebuild waits after a live partition was late.
	pressedFor = 300 * time.Millisecond
	// longestWait bounds one wait, so that a rebuild gets on even beside a live
	// generation that is itself catching up.
	longestWait = time.Second
)

// lagging says that a live partition has more to fetch.
func (p *pressure) lagging() { p.last.Store(time.Now().UnixNano()) }

// folded says that records up to one received at last became visible.
func (p *pressure) folded(building bool, last time.Time) {
	if age := time.Since(last); !building && !last.IsZero() && age > staleAfter && age < time.Hour {
		p.lagging()
	}
}

// giveWay waits while live partitions are late.
func (p *pressure) giveWay(ctx context.Context) {
	for until := time.Now().Add(longestWait); ctx.Err() == nil && time.Now().Before(until); {
		rest := pressedFor - time.Since(time.Unix(0, p.last.Load()))
		if rest <= 0 {
			return
		}
		pause(ctx, min(rest, time.Until(until)))
	}
}
