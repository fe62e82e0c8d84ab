package schemas

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math"
	"math/bits"
)

// name is a member of an object: where its name and its value are.
type name struct {
	start, end      uint32 // of the name without quotes: in the body, or in s.decoded
	value, valueEnd uint32 // of the value in the body
	quote           uint32 // of the name's opening quote in the body
	hash            uint32 // of the decoded name; cheap, not secure
	inDecoded       bool
}

// maxBody is what positions in a name can address.
const maxBody = math.MaxUint32

// nameBytes returns the decoded name.
func (s *scanner) nameBytes(n *name) []byte {
	if n.inDecoded {
		return s.decoded[n.start:n.end]
	}
	return s.body[n.start:n.end]
}

// setName fills in a name that stands, with its quotes, in body[quote:end].
func (s *scanner) setName(n *name, quote, end int, escaped bool) {
	n.quote = uint32(quote)
	n.inDecoded = escaped
	if !escaped {
		n.start, n.end = uint32(quote+1), uint32(end-1)
		n.hash = hashName(s.body[quote+1 : end-1])
		return
	}
	start := len(s.decoded)
	s.decoded = appendDecoded(s.decoded, s.body[quote+1:end-1])
	n.start, n.end = uint32(start), uint32(len(s.decoded))
	n.hash = hashName(s.decoded[start:])
}

// oneMore makes room for a name that the caller fills in where it lies; a copy
// through append costs more than all the rest of it.
func oneMore(list []name) []name {
	if len(list) < cap(list) {
		return list[:len(list)+1]
	}
	return append(list, name{})
}

// smallObject is the most members whose names are compared one by one. Larger
// objects go through a table with a seeded hash, so that no choice of names
// makes either slow.
const smallObject = 16

// nameSet finds names that are twice in one object, whose members are
// list[base:].
type nameSet struct {
	base  int
	bloom uint64 // a bit for each hash seen
}

// check files a flaw if the last name of list is there already. For objects
// over smallObject it leaves that to close.
func (set *nameSet) check(s *scanner, list []name) {
	last := len(list) - 1
	n := &list[last]
	bit := uint64(1) << (n.hash >> 26)
	if set.bloom&bit == 0 {
		set.bloom |= bit
		return
	}
	if last-set.base >= smallObject {
		return
	}
	for i := set.base; i < last; i++ {
		if list[i].hash == n.hash && bytes.Equal(s.nameBytes(&list[i]), s.nameBytes(n)) {
			s.duplicate(n)
			return
		}
	}
}

// close looks for duplicates in a large object, when all its members are known.
func (set *nameSet) close(s *scanner, list []name) {
	if len(list)-set.base > smallObject {
		s.duplicatesAmong(list[set.base:])
	}
}

// tableSeed is chosen anew in each process, so that nobody can prepare names
// that fall on one slot.
var tableSeed = maphash.MakeSeed()

// duplicatesAmong files a flaw for the first name that is there twice. The
// table is cleared for each object in proportion to its members, so the cost
// stays linear however objects nest.
func (s *scanner) duplicatesAmong(list []name) {
	size := 1 << bits.Len(uint(2*len(list)))
	if cap(s.table) < size {
		s.table = make([]uint32, size)
	}
	table := s.table[:size]
	clear(table)
	for i := range list {
		text := s.nameBytes(&list[i])
		slot := maphash.Bytes(tableSeed, text) & uint64(size-1)
		for table[slot] != 0 {
			other := &list[table[slot]-1]
			if other.hash == list[i].hash && bytes.Equal(s.nameBytes(other), text) {
				s.duplicate(&list[i])
				return
			}
			slot = (slot + 1) & uint64(size-1)
		}
		table[slot] = uint32(i + 1)
	}
}

// hashName mixes a name's length with its first and last eight bytes. It tells
// ordinary names apart in a few instructions.
func hashName(b []byte) uint32 {
	const odd = 0x9e3779b97f4a7c15
	var first, last uint64
	if n := len(b); n >= 8 {
		first = binary.LittleEndian.Uint64(b)
		last = binary.LittleEndian.Uint64(b[n-8:])
	} else if n >= 4 {
		first = uint64(binary.LittleEndian.Uint32(b))
		last = uint64(binary.LittleEndian.Uint32(b[n-4:]))
	} else {
		for _, c := range b {
			first = first<<8 | uint64(c)
		}
	}
	h := (first ^ bits.RotateLeft64(last, 29) ^ uint64(len(b))) * odd
	return uint32(h >> 32)
}
