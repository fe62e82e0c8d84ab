package webhooks

import (
	"context"
	"sync"

	"weir/eventlog"
)

// firsts is FirstsTopic folded: for each thing the event in which it was first
// seen. It grows by about 60 bytes for each thing, and never shrinks.
type firsts struct {
	mu    sync.Mutex
	by    map[[16]byte]uint64 // first half of the event's id
	next  int64
	ready bool // everything that was there at the start is read
	moved chan struct{}
}

func newFirsts() *firsts {
	return &firsts{by: map[[16]byte]uint64{}, moved: make(chan struct{})}
}

// take folds records; nil says that the end was reached once.
func (f *firsts) take(records []eventlog.Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready = f.ready || records == nil
	for i := range records {
		r := &records[i]
		f.next = r.Offset + 1
		if len(r.Value) != 32 {
			continue
		}
		thing, event := [16]byte(r.Value[:16]), [16]byte(r.Value[16:])
		if _, had := f.by[thing]; !had {
			f.by[thing] = short(event)
		}
	}
	close(f.moved)
	f.moved = make(chan struct{})
	return nil
}

func (f *firsts) known(thing [16]byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, had := f.by[thing]
	return had
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
