package webhooks

import "sync"

// window follows which records of a partition are done. Its checkpoint is the
// offset of the first that is not.
type window struct {
	mu    sync.Mutex
	open  []slot // in order of offset; the first is not done
	next  int64  // what is read so far ends here
	drops int    // slots taken from the front, ever
}

type slot struct {
	offset int64
	left   int // deliveries that are not done
}

// begin adds a record with n deliveries and returns its place.
func (w *window) begin(offset int64, n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = append(w.open, slot{offset, n})
	w.next = offset + 1
	return w.drops + len(w.open) - 1
}

// done counts one delivery of the record at a place.
func (w *window) done(place int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[place-w.drops].left--
	n := 0
	for n < len(w.open) && w.open[n].left <= 0 {
		n++
	}
	w.open = w.open[n:]
	w.drops += n
	if len(w.open) == 0 {
		w.open = nil // lets go of what grew
	}
}

// pass says that everything before next was read.
func (w *window) pass(next int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = max(w.next, next)
}

// checkpoint is the offset up to which everything is done.
func (w *window) checkpoint() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) > 0 {
		return w.open[0].offset
	}
	return w.next
}
