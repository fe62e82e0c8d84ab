package ingest

import "sync/atomic"

// budget bounds the bytes of all bodies in memory.
type budget struct {
	limit   int64
	outside func() int64 // bytes that others take of it; nil: none
	used    atomic.Int64
}

// take reserves n bytes, or nothing and false.
func (b *budget) take(n int64) bool { return b.takeOf(b.limit, n) }

// begin reserves n bytes for a body that will need more: only half of the budget
// is for beginnings, or many bodies that have begun would leave no room for any
// of them to end.
func (b *budget) begin(n int64) bool { return b.takeOf(b.limit/2, n) }

func (b *budget) takeOf(limit, n int64) bool {
	if b.outside != nil {
		limit = max(limit/4, limit-b.outside()) // never nothing at all
	}
	if b.used.Add(n) <= limit {
		return true
	}
	b.used.Add(-n)
	return false
}

func (b *budget) release(n int64) { b.used.Add(-n) }
