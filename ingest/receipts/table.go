package receipts

import (
	"encoding/binary"
	"math/bits"
)

// table maps key hashes to receipts, about 32 bytes a key at ten million keys:
// 24-byte slots, open addressing, 256 shards that grow by a quarter each for
// itself, so that no growth is long and little is empty. Not for concurrent use.
//
// 104 of a hash's 128 bits are kept (the shard is 8 of them). A hit is read
// back from the log, where the whole hash stands, so another key's answer can
// never be given.
type table struct {
	shards [256]shard
}

type shard struct {
	slots []slot
	used  int
}

// slot is 24 bytes. position is partition<<48 | offset+1; zero is an empty slot.
type slot struct {
	high     uint64
	position uint64
	low      uint32
	second   uint32 // Unix time of the first answer; good until 2106
}

type place struct {
	partition int
	offset    int64
	second    int64
}

const firstSlots = 8

func (s *slot) place() place {
	return place{int(s.position >> 48), int64(s.position&(1<<48-1)) - 1, int64(s.second)}
}

func cut(hash [16]byte) (shard int, high uint64, low uint32) {
	return int(hash[12]), binary.BigEndian.Uint64(hash[:8]), binary.BigEndian.Uint32(hash[8:12])
}

func (t *table) get(hash [16]byte) (place, bool) {
	n, high, low := cut(hash)
	s := t.shards[n].find(high, low)
	if s == nil || s.position == 0 {
		return place{}, false
	}
	return s.place(), true
}

// put adds or replaces the receipt of a key.
func (t *table) put(hash [16]byte, p place) {
	n, high, low := cut(hash)
	sh := &t.shards[n]
	sh.makeRoom()
	s := sh.find(high, low)
	if s.position == 0 {
		sh.used++
	}
	*s = slot{high, uint64(p.partition)<<48 | uint64(p.offset+1), low, uint32(p.second)}
}

// expire forgets the receipts given before second, and gives memory back.
func (t *table) expire(second int64) (forgotten int) {
	for n := range t.shards {
		forgotten += t.shards[n].expire(uint32(max(second, 0)))
	}
	return forgotten
}

func (t *table) len() (n int) {
	for i := range t.shards {
		n += t.shards[i].used
	}
	return n
}

// find returns the key's slot, or the empty one where it would be; nil in a shard without slots.
func (s *shard) find(high uint64, low uint32) *slot {
	size := uint64(len(s.slots))
	if size == 0 {
		return nil
	}
	// The high bits are spread over any size by multiplication, without a division.
	for i := mulHigh(high, size); ; i++ {
		if i == size {
			i = 0
		}
		c := &s.slots[i]
		if c.position == 0 || (c.high == high && c.low == low) {
			return c
		}
	}
}

// makeRoom keeps an eighth of the slots empty, so that a search stays short.
func (s *shard) makeRoom() {
	if (s.used+1)*8 <= len(s.slots)*7 {
		return
	}
	s.rebuild(max(firstSlots, len(s.slots)*5/4+1), 0)
}

func (s *shard) expire(second uint32) int {
	old := 0
	for i := range s.slots {
		if s.slots[i].position != 0 && s.slots[i].second < second {
			old++
		}
	}
	if old > 0 {
		s.rebuild(max(firstSlots, (s.used-old)*5/4+1), second)
	}
	return old
}

func (s *shard) rebuild(size int, since uint32) {
	from := s.slots
	s.slots, s.used = make([]slot, size), 0
	for i := range from {
		if c := &from[i]; c.position != 0 && c.second >= since {
			*s.find(c.high, c.low) = *c
			s.used++
		}
	}
}

func mulHigh(a, b uint64) uint64 {
	high, _ := bits.Mul64(a, b)
	return high
}
