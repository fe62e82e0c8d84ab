package eventlog

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// Where the fields of a record batch (v2) begin. The checksum covers everything
// from the attributes on.
const (
	atBaseOffset = 0
	atLength     = 8
	atEpoch      = 12
	atMagic      = 16
	atChecksum   = 17
	atAttributes = 21
	atLastDelta  = 23
	atBaseTime   = 27
	atMaxTime    = 35
	atProducer   = 43
	atProdEpoch  = 51
	atSequence   = 53
	atCount      = 57
	batchHeader  = 61
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// producerMark is what makes a produce idempotent: the broker drops a record
// batch whose producer and sequence it has seen.
type producerMark struct {
	id       int64
	epoch    int16
	sequence int32
}

// recordBatch describes a record batch whose records are already encoded.
type recordBatch struct {
	count             int
	baseTime, maxTime int64 // ms
	compression       Compression
	producer          producerMark
}

// putBatchHeader fills the header of batch, whose records begin at batchHeader.
func putBatchHeader(batch []byte, h recordBatch) {
	be := binary.BigEndian
	be.PutUint64(batch[atBaseOffset:], 0)
	be.PutUint32(batch[atLength:], uint32(len(batch)-atEpoch))
	be.PutUint32(batch[atEpoch:], ^uint32(0))
	batch[atMagic] = 2
	be.PutUint16(batch[atAttributes:], uint16(h.compression))
	be.PutUint32(batch[atLastDelta:], uint32(h.count-1))
	be.PutUint64(batch[atBaseTime:], uint64(h.baseTime))
	be.PutUint64(batch[atMaxTime:], uint64(h.maxTime))
	be.PutUint64(batch[atProducer:], uint64(h.producer.id))
	be.PutUint16(batch[atProdEpoch:], uint16(h.producer.epoch))
	be.PutUint32(batch[atSequence:], uint32(h.producer.sequence))
	be.PutUint32(batch[atCount:], uint32(h.count))
	be.PutUint32(batch[atChecksum:], checksum(batch))
}

// appendSet appends the records of s to dst in one pass. firstDelta is the number
// of records before it in the record batch, baseTime the batch's first timestamp
// in ms. It allocates nothing when dst has room (see setSize).
func appendSet(dst []byte, s *Set, firstDelta int, baseTime int64) []byte {
	timeDelta := s.Time.UnixMilli() - baseTime
	headers := 2 + len(s.Headers)
	fixed := fixedSize(s, timeDelta)
	for i, value := range s.Values {
		delta := int64(firstDelta + i)
		dst = appendVarint(dst, int64(fixed+varintLen(delta)+lengthLen(value)+len(value)))
		dst = append(dst, 0) // attributes: none are defined
		dst = appendVarint(dst, timeDelta)
		dst = appendVarint(dst, delta)
		dst = appendVarBytes(dst, s.Key)
		dst = appendVarBytes(dst, value)
		dst = appendVarint(dst, int64(headers))
		for j := range s.Headers {
			h := &s.Headers[j]
			dst = appendVarint(dst, int64(len(h.Key)))
			dst = append(dst, h.Key...)
			dst = appendVarBytes(dst, h.Value)
		}
		dst = append(dst, byte(len(headerBatch)<<1))
		dst = append(dst, headerBatch...)
		dst = append(dst, 16<<1)
		dst = append(dst, s.Batch[:]...)
		dst = append(dst, byte(len(headerIndex)<<1))
		dst = append(dst, headerIndex...)
		dst = append(dst, 4<<1)
		dst = binary.BigEndian.AppendUint32(dst, uint32(s.index(i)))
	}
	return dst
}

// index is the position in the request of the i-th value.
func (s *Set) index(i int) int {
	if s.Indexes == nil {
		return i
	}
	return s.Indexes[i]
}

// ownHeaders is the size of the two headers every record has.
const ownHeaders = 1 + len(headerBatch) + 1 + 16 + 1 + len(headerIndex) + 1 + 4

// fixedSize is the part of a record's size that is the same for all of a set.
func fixedSize(s *Set, timeDelta int64) int {
	n := 1 + varintLen(timeDelta) + lengthLen(s.Key) + len(s.Key) + varintLen(int64(2+len(s.Headers))) + ownHeaders
	for i := range s.Headers {
		h := &s.Headers[i]
		n += varintLen(int64(len(h.Key))) + len(h.Key) + lengthLen(h.Value) + len(h.Value)
	}
	return n
}

// Widest varints that can occur: a time delta of 10 bytes, an offset delta and a
// record length of 5 each.
const widestDeltas = 10 + 5 + 5

// setSize is an upper bound for the bytes appendSet will append, whatever the
// record batch is that the set joins.
func setSize(s *Set) int {
	fixed := fixedSize(s, 0) + widestDeltas
	n := 0
	for _, value := range s.Values {
		n += fixed + lengthLen(value) + len(value)
	}
	return n
}

func appendVarint(b []byte, v int64) []byte {
	return binary.AppendUvarint(b, uint64(v<<1)^uint64(v>>63))
}

// appendVarBytes writes length and bytes; nil becomes null.
func appendVarBytes(b, v []byte) []byte {
	if v == nil {
		return append(b, 1) // -1
	}
	return append(appendVarint(b, int64(len(v))), v...)
}

func varintLen(v int64) int {
	zigzag := uint64(v<<1) ^ uint64(v>>63)
	return (bits.Len64(zigzag|1) + 6) / 7
}

// lengthLen is the size of the length in front of v.
func lengthLen(v []byte) int {
	if v == nil {
		return 1
	}
	return varintLen(int64(len(v)))
}

func checksum(batch []byte) uint32 { return crc32.Checksum(batch[atAttributes:], castagnoli) }
