package limits

import (
	"math"
	"time"
)

// bucket is one project's tokens at one moment. It starts full.
type bucket struct {
	rates   Rates
	events  float64
	batches float64
	at      time.Time

	// What was taken here and not yet told to other gateways, which may be
	// negative after a refund, and whether the bucket waits in Buckets.untold.
	untoldEvents  int64
	untoldBatches int64
	since         time.Time // of the oldest untold change
	waits         bool
}

func newBucket(r Rates, now time.Time) *bucket {
	return &bucket{rates: r, events: float64(r.EventsPerSecond), batches: float64(r.BatchesPerSecond), at: now}
}

// refill brings the bucket to now. A clock that goes back adds nothing.
func (b *bucket) refill(now time.Time) {
	passed := now.Sub(b.at).Seconds()
	if passed <= 0 {
		return
	}
	b.at = now
	b.events = level(b.events, b.rates.EventsPerSecond, passed)
	b.batches = level(b.batches, b.rates.BatchesPerSecond, passed)
}

func level(tokens float64, rate int, passed float64) float64 {
	return math.Min(float64(rate), tokens+passed*float64(rate))
}

// adopt takes changed rates over. What was used of the old burst stays used,
// and a debt stays a debt, so that changing a limit back and forth gives
// nothing away.
func (b *bucket) adopt(r Rates) {
	if b.rates == r {
		return
	}
	b.events += float64(max(r.EventsPerSecond, 0) - max(b.rates.EventsPerSecond, 0))
	b.batches += float64(max(r.BatchesPerSecond, 0) - max(b.rates.BatchesPerSecond, 0))
	b.rates = r
	if r.EventsPerSecond <= 0 {
		b.events = 0
	}
	if r.BatchesPerSecond <= 0 {
		b.batches = 0
	}
}

// wait is how long until a batch may pass: no debt of events, and one whole batch token.
func (b *bucket) wait() time.Duration {
	var w time.Duration
	if r := b.rates.EventsPerSecond; r > 0 && b.events < 0 {
		w = until(-b.events, r)
	}
	if r := b.rates.BatchesPerSecond; r > 0 && b.batches < 1 {
		w = max(w, until(1-b.batches, r))
	}
	return w
}

// until is at least a nanosecond, for zero means that a batch passes.
func until(missing float64, rate int) time.Duration {
	return max(1, time.Duration(missing/float64(rate)*float64(time.Second)))
}

func (b *bucket) standing() Standing {
	return Standing{Rates: b.rates, Events: b.events, Batches: b.batches}
}

// whole says that the bucket is as a new one would be, so that it may be forgotten.
func (b *bucket) whole() bool {
	return !b.waits && b.events >= float64(b.rates.EventsPerSecond) && b.batches >= float64(b.rates.BatchesPerSecond)
}
