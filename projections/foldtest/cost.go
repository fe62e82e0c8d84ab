package foldtest

import (
	"testing"

	"weir/eventlog"
)

// Folder is what these take of a fold.
type Folder interface {
	Add(r *eventlog.Record) error
	Reset()
}

// Benchmark measures folding one of the records after the other, in blocks of all of them.
func Benchmark(b *testing.B, f Folder, records []eventlog.Record) {
	b.Helper()
	b.SetBytes(int64(len(records[0].Value)))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n == len(records) {
			n = 0
		}
		if n == 0 {
			f.Reset()
		}
		if err := f.Add(&records[n]); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

// Allocations fails the test when a block of all the records costs a fold that has
// folded it before more than most allocations.
func Allocations(t testing.TB, f Folder, records []eventlog.Record, most float64) {
	t.Helper()
	fold := func() {
		f.Reset()
		for i := range records {
			if err := f.Add(&records[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	fold()
	if got := testing.AllocsPerRun(20, fold); got > most {
		t.Errorf("%v allocations for %d records, want at most %v", got, len(records), most)
	}
}
