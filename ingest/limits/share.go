package limits

import "time"

// Usage is what one gateway tells the others about a project.
type Usage struct {
	Project string

	// Events and Batches that were taken since it last told; negative after refunds.
	Events, Batches int64

	// EventsLeft and BatchesLeft are the bucket's tokens as this gateway sees it,
	// the above taken off: where one that knows nothing of the project begins.
	EventsLeft, BatchesLeft int64

	Rates Rates
}

const (
	// tellShare is the part of a rate that may stay untold for tellLatest;
	// more than that is told at once. So projects that send little cost one
	// line a second, and what others don't know yet is small either way.
	tellShare  = 50
	tellLatest = time.Second

	// longDebt is a debt that a gateway which just started might not hear of,
	// because it reads the last Replay only; it is told again, and again.
	longDebt = Replay / 2
)

// Replay is how far back a gateway that starts must read what others told.
const Replay = time.Minute

// Share makes b keep what is taken for Untold. Call it before anything else.
func (b *Buckets) Share() { b.sharing = true }

// note keeps a change for Untold.
func (b *Buckets) note(project string, k *bucket, events int, batches int64, now time.Time) {
	if !b.sharing {
		return
	}
	if k.rates.EventsPerSecond > 0 {
		k.untoldEvents += int64(events)
	}
	if k.rates.BatchesPerSecond > 0 {
		k.untoldBatches += batches
	}
	b.await(project, k, now)
}

func (b *Buckets) await(project string, k *bucket, now time.Time) {
	if !k.waits {
		k.waits, k.since = true, now
		b.untold = append(b.untold, project)
	}
}

// Untold takes what other gateways should be told at now; nothing is given out
// twice. Call it a few times a second.
func (b *Buckets) Untold(now time.Time) (told []Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.swept) >= sweepEvery {
		b.sweep(now)
	}
	later := b.untold[:0]
	for _, project := range b.untold {
		k := b.byName[project]
		if k == nil {
			continue
		}
		if !k.urgent(now) {
			later = append(later, project)
			continue
		}
		k.refill(now)
		told = append(told, k.usage(project))
		k.untoldEvents, k.untoldBatches, k.waits = 0, 0, false
	}
	b.untold = later
	return told
}

func (k *bucket) urgent(now time.Time) bool {
	r := k.rates
	return now.Sub(k.since) >= tellLatest || now.Before(k.since) ||
		max(k.untoldEvents, -k.untoldEvents)*tellShare > int64(r.EventsPerSecond) ||
		max(k.untoldBatches, -k.untoldBatches)*tellShare > int64(r.BatchesPerSecond)
}

func (k *bucket) usage(project string) Usage {
	return Usage{
		Project: project, Events: k.untoldEvents, Batches: k.untoldBatches,
		EventsLeft: int64(k.events), BatchesLeft: int64(k.batches), Rates: k.rates,
	}
}

// Told applies what another gateway took. at is when it told, by its clock; for
// what is read back at the start it is in the past, and the bucket refills from
// then on.
func (b *Buckets) Told(u Usage, at, now time.Time) {
	if u.Rates.Off() {
		return
	}
	if at.After(now) {
		at = now
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.byName[u.Project]
	if k == nil {
		k = newBucket(u.Rates, at)
		k.events = min(k.events, float64(u.EventsLeft))
		k.batches = min(k.batches, float64(u.BatchesLeft))
		b.byName[u.Project] = k
		return
	}
	k.refill(at) // not to now: what is read back comes in the order of its time
	if k.rates.EventsPerSecond > 0 {
		k.events = min(float64(k.rates.EventsPerSecond), k.events-float64(u.Events))
	}
	if k.rates.BatchesPerSecond > 0 {
		k.batches = min(float64(k.rates.BatchesPerSecond), k.batches-float64(u.Batches))
	}
}

// restate has a long debt told again, without any change.
func (b *Buckets) restate(project string, k *bucket, now time.Time) {
	if b.sharing && k.events < -longDebt.Seconds()*float64(k.rates.EventsPerSecond) {
		b.await(project, k, now)
	}
}
