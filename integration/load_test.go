package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"
)

// load is four clients that send batches at once.
type load struct {
	seed    uint64
	total   int // events answered 200 together; 0: until the context ends
	largest int // events in a batch
	keyed   bool
	who     credentials
	// never503 makes a 503 an answer that must not be, instead of one to repeat.
	never503 bool
	// bases gives the addresses that may be asked, at each request anew.
	bases  func() []string
	ledger *ledger
}

const clients = 4

// start runs the clients; the returned function waits for their end.
func (l *load) start(ctx context.Context) (wait func()) {
	var running sync.WaitGroup
	for c := range clients {
		running.Go(func() { l.client(ctx, c) })
	}
	return running.Wait
}

// client sends until all clients together have sent enough. With idempotency keys it tries each batch until it is answered 200;
// without, an unanswered batch is given up, as nobody knows whether it was taken.
func (l *load) client(ctx context.Context, number int) {
	rng := rand.New(rand.NewPCG(l.seed, uint64(number)+100))
	for n := 0; (l.total == 0 || l.ledger.answeredEvents() < l.total) && ctx.Err() == nil; n++ {
		b := newBatch(rng, fmt.Sprintf("s%x-c%d-b%d", l.seed, number, n), 1+rng.IntN(l.largest))
		l.ledger.enter(b)
		l.deliver(ctx, rng, b)
	}
}

// deliver sends one batch until its fate is known, or nobody can tell.
func (l *load) deliver(ctx context.Context, rng *rand.Rand, b *batch) {
	for tried := true; tried; tried = pause(ctx, rng) {
		key := ""
		if l.keyed {
			key = b.key
		}
		b.posts++
		var twin chan answer
		if l.keyed && rng.IntN(15) == 0 {
			twin = l.twin(pick(rng, l.bases()), b)
		}
		a, err := post(pick(rng, l.bases()), l.who, b.body, key)
		l.same(b, a, twin)
		switch {
		case err == nil && a.status == http.StatusOK:
			if err := b.agrees(a.body); err != nil {
				l.ledger.object("%v", err)
			}
			if l.keyed && rng.IntN(20) == 0 {
				l.repeat(rng, b, a)
			}
			l.ledger.settle(b, answered)
			return
		case err == nil && a.status != http.StatusTooManyRequests && a.status != http.StatusServiceUnavailable:
			l.ledger.object("batch %s was answered %s", b.name, a)
			l.ledger.settle(b, refused)
			return
		case err == nil:
			if _, err := a.problem(); err != nil || l.never503 {
				l.ledger.object("batch %s was answered %s %v", b.name, a, err)
			}
		}
		if !l.keyed && (err != nil || a.status == http.StatusServiceUnavailable) {
			pause(ctx, rng)
			return
		}
	}
}

// finish delivers what was under way when the clients were stopped.
func (l *load) finish(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	rng := rand.New(rand.NewPCG(l.seed, 99))
	for _, b := range l.ledger.batches {
		if b.fate == unknown && l.keyed {
			l.deliver(ctx, rng, b)
		}
	}
}

// twin sends a batch a second time while it is being sent, through any gateway.
func (l *load) twin(base string, b *batch) chan answer {
	twin := make(chan answer, 1)
	go func() {
		a, _ := post(base, l.who, b.body, b.key)
		twin <- a
	}()
	return twin
}

// same compares the answers of two requests with one key that were made at once: of two 200s, one
// is the repeat of the other.
func (l *load) same(b *batch, a answer, twin chan answer) {
	if twin == nil {
		return
	}
	other := <-twin
	if a.status != http.StatusOK || other.status != http.StatusOK {
		return
	}
	replays := a.header.Get("Idempotent-Replayed") + other.header.Get("Idempotent-Replayed")
	if string(a.body) != string(other.body) || (b.posts == 1 && replays != "true") {
		l.ledger.object("batch %s sent twice at once with the key %s: got %s and %s (Idempotent-Replayed: %s)", b.name, b.key, a, other, replays)
	}
}

// repeat sends an answered batch again, through any gateway: the answer must be the first one.
func (l *load) repeat(rng *rand.Rand, b *batch, first answer) {
	a, err := post(pick(rng, l.bases()), l.who, b.body, b.key)
	if err != nil || a.status == http.StatusServiceUnavailable {
		return // the gateway was killed meanwhile
	}
	if a.status != http.StatusOK || string(a.body) != string(first.body) || a.header.Get("Idempotent-Replayed") != "true" {
		l.ledger.object("batch %s repeated with its key %s: got %s (Idempotent-Replayed: %q), expected the first answer %s",
			b.name, b.key, a, a.header.Get("Idempotent-Replayed"), first)
	}
}

// pause is a client's backoff with jitter; false when it should stop.
func pause(ctx context.Context, rng *rand.Rand) bool {
	timer := time.NewTimer(20*time.Millisecond + time.Duration(rng.Int64N(int64(130*time.Millisecond))))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// reaches waits until so many events were answered 200.
func (l *ledger) reaches(t testing.TB, events int) {
	t.Helper()
	eventually(t, 2*time.Minute, "the load goes on", func() error {
		if n := l.answeredEvents(); n < events {
			return fmt.Errorf("%d events answered, waiting for %d; answers that must not be: %s", n, events, l.objections())
		}
		return nil
	})
}

func (l *ledger) objections() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return shown(l.wrong)
}
