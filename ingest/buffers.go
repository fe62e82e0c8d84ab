package ingest

import (
	"math/bits"
	"sync"
)

// buffer is pooled memory for a body. It has room for a power of two, so that
// what is reserved of the budget is what is really held, at most twice the body.
type buffer struct{ bytes []byte }

const (
	smallestBits = 12 // 4 KiB
	largestBits  = 24 // 16 MiB; larger ones, of a raised limit, are not pooled
)

var buffers [largestBits + 1]sync.Pool // of *buffer, by bits of their room

// roomFor is the memory a buffer for n bytes takes.
func roomFor(n int) int { return 1 << classOf(n) }

func classOf(n int) int { return max(smallestBits, bits.Len(uint(max(n, 1)-1))) }

// newBuffer returns an empty buffer with room for n bytes.
func newBuffer(n int) *buffer {
	class := classOf(n)
	if class <= largestBits {
		if b, ok := buffers[class].Get().(*buffer); ok {
			return b
		}
	}
	return &buffer{make([]byte, 0, 1<<class)}
}

// free gives the memory back; nil is nothing. Nobody may use its bytes any more.
func (b *buffer) free() {
	if b == nil {
		return
	}
	if class := classOf(cap(b.bytes)); class <= largestBits {
		b.bytes = b.bytes[:0]
		buffers[class].Put(b)
	}
}

// grown makes sure that buf has free room, and that the budget covers it: when it
// is full, twice as much as before or as much as is awaited in all, if that is more.
func (q *request) grown(buf *buffer, awaited int) (*buffer, error) {
	size := 1
	if buf != nil {
		if len(buf.bytes) < cap(buf.bytes) {
			return buf, nil
		}
		size = max(cap(buf.bytes)+1, awaited)
	}
	if err := q.reserve(int64(roomFor(size))); err != nil {
		return buf, err
	}
	larger := newBuffer(size)
	if buf != nil {
		larger.bytes = append(larger.bytes, buf.bytes...)
		q.unreserve(int64(cap(buf.bytes)))
		buf.free()
	}
	return larger, nil
}
