package projections

import (
	"fmt"
	"runtime/debug"
	"time"

	"weir/eventlog"
)

// folding collects the records of one block and folds them as they come.
type folding struct {
	fold       Fold
	chunks     [][]eventlog.Record
	from, to   int64
	records    int
	bytes      int
	last       time.Time // received time of the newest record
	refused    map[int64]refusal
	tainted    bool // a panic left half a record in the rows
	quarantine quarantineRows
}

// refusal is why a record cannot be folded.
type refusal struct {
	reason   string
	panicked bool
}

func newFolding(f Fold) *folding {
	return &folding{fold: f, refused: map[int64]refusal{}}
}

// begin forgets the last block; the next one starts at from.
func (f *folding) begin(from int64) {
	f.fold.Reset()
	f.quarantine.reset()
	clear(f.refused)
	clear(f.chunks)
	f.chunks = f.chunks[:0]
	f.from, f.to = from, from
	f.records, f.bytes, f.tainted = 0, 0, false
	f.last = time.Time{}
}

// add folds records, which end before offset next.
func (f *folding) add(records []eventlog.Record, next int64) {
	f.chunks = append(f.chunks, records)
	for i := range records {
		r := &records[i]
		f.records++
		f.bytes += len(r.Value)
		f.try(r)
	}
	if n := len(records); n > 0 {
		f.last = records[n-1].Time
	}
	f.to = next
}

func (f *folding) try(r *eventlog.Record) {
	err, panicked := f.attempt(r)
	if err != nil {
		f.refused[r.Offset] = refusal{reason: err.Error(), panicked: panicked}
		f.tainted = f.tainted || panicked
	}
}

// attempt folds one record and turns a panic into an error.
func (f *folding) attempt(r *eventlog.Record) (err error, panicked bool) {
	defer func() {
		if p := recover(); p != nil {
			err, panicked = fmt.Errorf("fold panicked: %v at %s", p, panicSite()), true
		}
	}()
	return f.fold.Add(r), false
}

// panicSite is the stack of a panic, cut to what fits into a reason.
func panicSite() string {
	const most = 2 << 10
	stack := debug.Stack()
	return string(stack[:min(len(stack), most)])
}

// block finishes the block. After a panic everything is folded once more without
// the records that were refused, because rows may hold half of one.
func (f *folding) block(projection string, generation int) []Block {
	for f.tainted {
		f.tainted = false
		f.fold.Reset()
		f.each(func(r *eventlog.Record) {
			if _, out := f.refused[r.Offset]; !out {
				f.try(r)
			}
		})
	}
	blocks := f.fold.Blocks()
	if len(f.refused) == 0 {
		return blocks
	}
	f.each(func(r *eventlog.Record) {
		if why, out := f.refused[r.Offset]; out {
			f.quarantine.add(projection, generation, r, why.reason)
		}
	})
	return append(blocks[:len(blocks):len(blocks)], f.quarantine.block())
}

// witness is that of the block's last record, or of the one before the block when it
// has none.
func (f *folding) witness(before eventlog.Witness) eventlog.Witness {
	for i := len(f.chunks) - 1; i >= 0; i-- {
		if n := len(f.chunks[i]); n > 0 {
			return f.chunks[i][n-1].Witness()
		}
	}
	return before
}

func (f *folding) each(fn func(r *eventlog.Record)) {
	for _, chunk := range f.chunks {
		for i := range chunk {
			fn(&chunk[i])
		}
	}
}
