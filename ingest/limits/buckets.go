package limits

import (
	"sync"
	"time"
)

// sweepEvery is how often buckets that have filled up again are forgotten. A
// bucket without debt is full after a second, so memory follows the number of
// projects that sent something in the last few seconds.
const sweepEvery = 5 * time.Second

// Buckets limits within this process. All methods may run at once.
type Buckets struct {
	mu     sync.Mutex
	byName map[string]*bucket
	swept  time.Time

	sharing bool     // changes are kept for Untold
	untold  []string // projects with changes that others have not been told
}

// New makes an empty set; every project starts with full buckets.
func New() *Buckets { return &Buckets{byName: map[string]*bucket{}} }

// Admit asks at now whether a batch of the project may pass, and takes one
// batch token if so. The number of its events is not known yet: Charge follows
// when the body has been scanned.
func (b *Buckets) Admit(project string, r Rates, now time.Time) Standing {
	if r.Off() {
		return Standing{Rates: r}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.bucket(project, r, now)
	if w := k.wait(); w > 0 {
		s := k.standing()
		s.RetryAfter = w
		return s
	}
	if r.BatchesPerSecond > 0 {
		k.batches--
	}
	b.note(project, k, 0, 1, now)
	return k.standing()
}

// Charge counts the events of an admitted batch, accepted and rejected ones
// alike. It refuses, and gives the batch token back, when batches that were
// scanned meanwhile have left a debt: so however many are under way at once,
// the debt is never more than one batch.
func (b *Buckets) Charge(project string, r Rates, events int, now time.Time) Standing {
	if r.Off() {
		return Standing{Rates: r}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.bucket(project, r, now)
	if r.EventsPerSecond > 0 {
		if k.events < 0 {
			k.giveBack(0)
			b.note(project, k, 0, -1, now)
			s := k.standing()
			s.RetryAfter = until(-k.events, r.EventsPerSecond)
			return s
		}
		k.events -= float64(events)
	}
	b.note(project, k, events, 0, now)
	return k.standing()
}

// Refund takes back an Admit and a Charge of so many events, for a batch that
// turned out to be a repeat.
func (b *Buckets) Refund(project string, r Rates, events int, now time.Time) Standing {
	if r.Off() {
		return Standing{Rates: r}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.bucket(project, r, now)
	k.giveBack(events)
	b.note(project, k, -events, -1, now)
	return k.standing()
}

// Standing is where the project stands at now; nothing is taken.
func (b *Buckets) Standing(project string, r Rates, now time.Time) Standing {
	if r.Off() {
		return Standing{Rates: r}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bucket(project, r, now).standing()
}

func (k *bucket) giveBack(events int) {
	k.events = min(float64(k.rates.EventsPerSecond), k.events+float64(events))
	k.batches = min(float64(k.rates.BatchesPerSecond), k.batches+1)
}

func (b *Buckets) bucket(project string, r Rates, now time.Time) *bucket {
	r.EventsPerSecond, r.BatchesPerSecond = max(r.EventsPerSecond, 0), max(r.BatchesPerSecond, 0)
	if now.Sub(b.swept) >= sweepEvery {
		b.sweep(now)
	}
	k := b.byName[project]
	if k == nil {
		k = newBucket(r, now)
		b.byName[project] = k
		return k
	}
	k.refill(now)
	k.adopt(r)
	return k
}

func (b *Buckets) sweep(now time.Time) {
	b.swept = now
	for project, k := range b.byName {
		if k.refill(now); k.whole() {
			delete(b.byName, project)
		} else {
			b.restate(project, k, now)
		}
	}
}

// Len is the number of projects remembered.
func (b *Buckets) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.byName)
}
