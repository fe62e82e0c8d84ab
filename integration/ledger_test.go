package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
)

// fate is what a client knows of a batch.
type fate uint8

const (
	unknown  fate = iota // never answered, or 503: it may be kept or not
	refused              // answered 4xx: nothing of it may be kept
	answered             // answered 200: every valid event is kept, once
)

// batch is one request as a client sent it.
type batch struct {
	name   string
	key    string // idempotency key
	events []event
	body   []byte
	fate   fate
	posts  int // requests made with it
}

// newBatch makes a batch of random size in which about one event of thirty is spoiled.
func newBatch(rng *rand.Rand, name string, events int) *batch {
	b := &batch{name: name, key: uuid(rng)}
	texts := make([]string, events)
	for i := range events {
		marker := fmt.Sprintf("%s-e%d", name, i)
		if rng.IntN(30) == 0 {
			b.events = append(b.events, newSpoiled(rng, marker))
		} else {
			b.events = append(b.events, newEvent(rng, marker, ""))
		}
		texts[i] = b.events[i].json()
	}
	b.body = []byte(`{"events":[` + strings.Join(texts, ",") + `]}`)
	return b
}

// uuid is a version 4 UUID from the scenario's own randomness.
func uuid(rng *rand.Rand) string {
	a, b := rng.Uint64(), rng.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff, 0x8000|b>>48&0x3fff, b&0xffffffffffff)
}

// agrees checks a 200's body against what the specification says of each event.
func (b *batch) agrees(body []byte) error {
	var r receipt
	if err := json.Unmarshal(body, &r); err != nil {
		return fmt.Errorf("batch %s: %w in %s", b.name, err, body)
	}
	valid, i := 0, 0
	for index, e := range b.events {
		if e.reason == "" {
			valid++
			continue
		}
		if i >= len(r.Rejected) || r.Rejected[i].Index != index || r.Rejected[i].Reason != e.reason {
			return fmt.Errorf("batch %s: event %d must be rejected with %q; the answer is %s", b.name, index, e.reason, body)
		}
		i++
	}
	if r.Accepted != valid || i != len(r.Rejected) {
		return fmt.Errorf("batch %s: expected %d accepted and %d rejected; the answer is %s", b.name, valid, i, body)
	}
	return nil
}

// ledger is what the clients know, independent of the server: safe for concurrent use.
type ledger struct {
	mu      sync.Mutex
	batches []*batch
	kept    int // valid events answered 200
	wrong   []string
}

func (l *ledger) enter(b *batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.batches = append(l.batches, b)
}

// settle notes how a batch ended.
func (l *ledger) settle(b *batch, f fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b.fate = f
	if f != answered {
		return
	}
	for _, e := range b.events {
		if e.reason == "" {
			l.kept++
		}
	}
}

// object notes an answer that must not be; the scenario fails with all of them.
func (l *ledger) object(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// answeredEvents counts the valid events answered 200 so far.
func (l *ledger) answeredEvents() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept
}

// compare finds how seen, the events found by marker and how often, differs from what may be:
// answered ones exactly once, unknown ones at most once, all others never. What it returns is the
// list of the valid events seen.
func (l *ledger) compare(where string, seen map[string]int) (present []*event, differences []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := maps.Clone(seen)
	for _, b := range l.batches {
		for i := range b.events {
			e := &b.events[i]
			n := seen[e.marker]
			delete(rest, e.marker)
			if objection := allowed(b, e, n); objection != "" {
				differences = append(differences, fmt.Sprintf("%s: %s of batch %s (idempotency key %s, %d requests) %s", where, e, b.name, b.key, b.posts, objection))
			}
			if n > 0 && e.reason == "" {
				present = append(present, e)
			}
		}
	}
	for marker, n := range rest {
		differences = append(differences, fmt.Sprintf("%s: %q, which nobody sent, is there %d times", where, marker, n))
	}
	return present, differences
}

func allowed(b *batch, e *event, n int) string {
	switch {
	case e.reason != "" && n > 0:
		return fmt.Sprintf("was rejected, yet is there %d times", n)
	case e.reason != "":
		return ""
	case b.fate == answered && n == 0:
		return "was answered 200 and is missing"
	case n > 1:
		return fmt.Sprintf("is there %d times", n)
	case b.fate == refused && n > 0:
		return "was refused as a whole, yet is there"
	}
	return ""
}

// shown joins the first differences and says how many more there are.
func shown(differences []string) string {
	const most = 15
	text := strings.Join(differences[:min(most, len(differences))], "\n  ")
	if more := len(differences) - most; more > 0 {
		text += fmt.Sprintf("\n  … and %d more", more)
	}
	return text
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
