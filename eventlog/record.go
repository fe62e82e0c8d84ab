package eventlog

import (
	"encoding/binary"
	"time"

	"github.com/twmb/murmur3"
)

// Header is one header of a record.
type Header struct {
	Key   string
	Value []byte
}

// Names of the headers every record of ours has. Their values are the 16 bytes
// of the batch id, and the position in the request as 4 bytes, big endian.
const (
	headerBatch = "batch"
	headerIndex = "index"
)

// Set is what one request appends to one partition. It is kept whole: all of it
// is in the log, in one record batch, in order and side by side, or none of it.
type Set struct {
	// Key of every record: the project id.
	Key []byte

	// Batch identifies the request. With Indexes it makes the event ids.
	Batch [16]byte

	// Time the request was received; records keep it in milliseconds.
	Time time.Time

	// Values are the records. Append copies them before it returns.
	Values [][]byte

	// Indexes are the positions of Values in the request, one for each. Nil
	// numbers them from zero.
	Indexes []int

	// Headers are added to every record of the set.
	Headers []Header
}

// Record is one record of the log. Its byte slices are parts of the buffer of the
// [Chunk] it came in: keep a copy, or the whole chunk stays in memory.
type Record struct {
	Topic     string
	Partition int
	Offset    int64
	Time      time.Time // received, in milliseconds
	Key       []byte    // project id
	Value     []byte    // event as it arrived; nil for a tombstone
	Batch     [16]byte  // zero when another producer wrote the record
	Index     int       // position in the request
	Headers   []Header  // headers other than ours
}

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition int
}

// EventID is murmur3-128 of batch id and index: the same however often the batch
// was sent. A record that another producer wrote has no batch id; its event id is
// made from topic, partition and offset.
func (r *Record) EventID() [16]byte {
	if r.Batch == [16]byte{} {
		return positionID(r.Topic, r.Partition, r.Offset)
	}
	return EventID(r.Batch, r.Index)
}

// EventID is the id of the event at index in the request with this batch id.
func EventID(batch [16]byte, index int) [16]byte {
	var b [20]byte
	copy(b[:], batch[:])
	binary.BigEndian.PutUint32(b[16:], uint32(index))
	return sum128(b[:])
}

func positionID(topic string, partition int, offset int64) [16]byte {
	b := make([]byte, 0, 64)
	b = append(b, topic...)
	b = append(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(partition))
	b = binary.BigEndian.AppendUint64(b, uint64(offset))
	return sum128(b)
}

func sum128(b []byte) (id [16]byte) {
	high, low := murmur3.Sum128(b)
	binary.BigEndian.PutUint64(id[:8], high)
	binary.BigEndian.PutUint64(id[8:], low)
	return id
}
