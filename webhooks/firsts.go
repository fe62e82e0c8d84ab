package webhooks

import (
	"context"
	"sync"

	"weir/eventlog"
)

// mostFirsts bounds what is remembered: about 64 MB in each process. When there is
// more, the things that were claimed longest ago are forgotten; one of them that is
// seen again is told again, as new.
const mostFirsts = 1 << 20

// firsts is a topic of claims folded: for each thing the event in which it was
// first seen, of the last mostFirsts things.
type firsts struct {
	mu     sync.Mutex
	most   int
	by     map[[16]byte]uint64 // first half of the event's id
	order  [][16]byte          // the things as they were claimed, in a ring
	oldest int                 // in order, once it is full
	next   int64
	ready  bool // everything that was there at the start is read
	moved  chan struct{}
}

func newFirsts(most int) *firsts {
	return &firsts{most: most, by: map[[16]byte]uint64{}, moved: make(chan struct{})}
}

// take folds records; nil says that the end was reached once.
func (f *firsts) take(records []eventlog.Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready = f.ready || records == nil
	for i := range records {
		r := &records[i]
		f.next = r.Offset + 1
		if len(r.Value) == 32 {
			f.claimed([16]byte(r.Value[:16]), [16]byte(r.Value[16:]))
		}
	}
	close(f.moved)
	f.moved = make(chan struct{})
	return nil
}

// claimed takes a claim: the first for a thing holds.
func (f *firsts) claimed(thing, event [16]byte) {
	if _, had := f.by[thing]; had {
		return
	}
	f.by[thing] = short(event)
	if len(f.order) < f.most {
		f.order = append(f.order, thing)
		return
	}
	delete(f.by, f.order[f.oldest])
	f.order[f.oldest] = thing
	f.oldest = (f.oldest + 1) % f.most
}

// from is where reading begins: what lies before would be forgotten again.
func (f *firsts) from(b eventlog.Bounds) int64 { return max(b.Start, b.End-int64(f.most)) }

func (f *firsts) known(thing [16]byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, had := f.by[thing]
	return had
}

// first is the first half of the id that claimed a thing.
func (f *firsts) first(thing [16]byte) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.by[thing]
}

// is says whether a record is the event in which a thing was first seen.
func (f *firsts) is(thing [16]byte, r *eventlog.Record) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	event, had := f.by[thing]
	return had && event == short(r.EventID())
}

// wait returns when everything before an offset is folded, or with ctx's error.
func (f *firsts) wait(ctx context.Context, next int64) error {
	for {
		f.mu.Lock()
		done, moved := f.ready && f.next >= next, f.moved
		f.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
