package ingest

import "sync/atomic"

// budget bounds the bytes of all bodies in memory.
type budget struct {
	limit int64
	used  atomic.Int64
}

// take reserves n bytes, or nothing and false.
func (b *budget) take(n int64) bool {
	if b.used.Add(n) <= b.limit {
		return true
	}
	b.used.Add(-n)
	return false
}

func (b *budget) release(n int64) { b.used.Add(-n) }
