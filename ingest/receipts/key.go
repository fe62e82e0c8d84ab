package receipts

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/twmb/murmur3"
)

// Key is an idempotency key of one project.
type Key struct {
	Project string
	UUID    [16]byte
}

// ParseUUID reads the one accepted form, 8-4-4-4-12 hex digits of either case,
// any version and variant.
func ParseUUID(s string) (id [16]byte, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, false
	}
	var digits [32]byte
	n := copy(digits[:], s[:8])
	n += copy(digits[n:], s[9:13])
	n += copy(digits[n:], s[14:18])
	n += copy(digits[n:], s[19:23])
	copy(digits[n:], s[24:])
	_, err := hex.Decode(id[:], digits[:])
	return id, err == nil
}

// hash names the key in the topic and the index, 16 bytes.
func (k Key) hash() [16]byte {
	var space [64]byte
	b := append(append(space[:0], k.Project...), 0)
	return sum(append(b, k.UUID[:]...))
}

// batchOf is the id of the batch that a key's first claim, at origin, began. It
// is the same for whoever ends it, so a retry makes the same event ids and goes
// to the same partitions. It is another one when the key is used again after it
// has expired.
func batchOf(hash [16]byte, origin int64) [16]byte {
	var b [24]byte
	copy(b[:], hash[:])
	binary.BigEndian.PutUint64(b[16:], uint64(origin))
	return sum(b[:])
}

func sum(b []byte) (id [16]byte) {
	h1, h2 := murmur3.Sum128(b)
	binary.BigEndian.PutUint64(id[:8], h1)
	binary.BigEndian.PutUint64(id[8:], h2)
	return id
}
