package eventlog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/segmentio/kafka-go/compress"
)

// Attribute bits of a record batch.
const (
	compressionBits  = 0x07
	appendTimeBit    = 0x08
	transactionalBit = 0x10
	controlBit       = 0x20
)

const (
	// smallestRecord: length, attributes, two deltas, two lengths and the header
	// count, a byte each.
	smallestRecord = 7

	// mostForeseen bounds the records room is made for before they are read, since
	// a count may lie.
	mostForeseen = 1 << 16

	// largestUnpacked bounds what one compressed record batch may grow to.
	largestUnpacked = 256 << 20
)

// aborted names a transaction whose records must not be handed out.
type aborted struct {
	producer int64
	first    int64
}

// decoder turns the bytes of one fetch into records. Only a foreign producer
// writes transactions; theirs are skipped when they were aborted.
type decoder struct {
	topic     string
	partition int
	from      int64 // offset asked for
	next      int64
	pending   []aborted // by first offset
	open      map[int64]bool
	records   []Record

	firstEpoch, lastEpoch int32 // of the record batches; noEpoch before the first
}

// noEpoch is the leader epoch of no record batch.
const noEpoch int32 = -1

// decode reads all whole record batches of data. A bad one ends it: the records
// before it are kept, and it is an error only when there are none.
func (d *decoder) decode(data []byte) error {
	slices.SortFunc(d.pending, func(a, b aborted) int { return int(min(max(a.first-b.first, -1), 1)) })
	d.records = make([]Record, 0, countRecords(data))
	start := d.next
	for {
		batch, rest, ok := cutBatch(data)
		if !ok {
			if len(data) > 0 && d.next == start {
				return d.corrupt(d.next, "%d bytes that are no whole record batch", len(data))
			}
			return nil
		}
		kept := len(d.records)
		if err := d.batch(batch); err != nil {
			d.records = d.records[:kept]
			if d.next > start {
				return nil // the next fetch begins with this batch and says so
			}
			return err
		}
		data = rest
	}
}

// cutBatch splits the first whole record batch off.
func cutBatch(data []byte) (batch, rest []byte, ok bool) {
	if len(data) < atMagic+1 {
		return nil, nil, false
	}
	n := int64(int32(binary.BigEndian.Uint32(data[atLength:]))) + atEpoch
	if n < atMagic+1 || n > int64(len(data)) {
		return nil, nil, false
	}
	return data[:n:n], data[n:], true
}

// countRecords adds up what the batch headers claim, within reason: it only
// says how much room to make.
func countRecords(data []byte) int {
	n := 0
	for {
		batch, rest, ok := cutBatch(data)
		if !ok {
			return min(n, mostForeseen)
		}
		if len(batch) >= batchHeader {
			n += max(0, int(int32(binary.BigEndian.Uint32(batch[atCount:]))))
		}
		data = rest
	}
}

func (d *decoder) batch(b []byte) error {
	be := binary.BigEndian
	base := int64(be.Uint64(b[atBaseOffset:]))
	if b[atMagic] != 2 {
		return d.corrupt(base, "record format %d; only 2 is understood", b[atMagic])
	}
	if len(b) < batchHeader {
		return d.corrupt(base, "record batch of %d bytes", len(b))
	}
	if sum := checksum(b); sum != be.Uint32(b[atChecksum:]) {
		return d.corrupt(base, "checksum is %08x, record batch says %08x", sum, be.Uint32(b[atChecksum:]))
	}
	last := base + int64(int32(be.Uint32(b[atLastDelta:])))
	if last < base {
		return d.corrupt(base, "record batch ends at offset %d", last)
	}
	if d.wanted(b, last) {
		if err := d.batchRecords(b, base); err != nil {
			return err
		}
	}
	d.next = max(d.next, last+1)
	d.lastEpoch = int32(be.Uint32(b[atEpoch:]))
	if d.firstEpoch == noEpoch {
		d.firstEpoch = d.lastEpoch
	}
	return nil
}

// wanted reports whether the batch holds records to hand out, and follows the
// transactions of its producer.
func (d *decoder) wanted(b []byte, last int64) bool {
	attributes := binary.BigEndian.Uint16(b[atAttributes:])
	producer := int64(binary.BigEndian.Uint64(b[atProducer:]))
	for len(d.pending) > 0 && d.pending[0].first <= last {
		if d.open == nil {
			d.open = make(map[int64]bool)
		}
		d.open[d.pending[0].producer] = true
		d.pending = d.pending[1:]
	}
	if attributes&controlBit != 0 {
		if isAbort(b) {
			delete(d.open, producer)
		}
		return false
	}
	return last >= d.from && (attributes&transactionalBit == 0 || !d.open[producer])
}

// isAbort reads the type from the key of a control record: version, type.
func isAbort(b []byte) bool {
	r := varReader{rest: b[batchHeader:]}
	r.varint() // length
	r.take(1)
	r.varint()
	r.varint()
	key := r.varBytes()
	return len(key) >= 4 && binary.BigEndian.Uint16(key[2:]) == 0
}

func (d *decoder) batchRecords(b []byte, base int64) error {
	be := binary.BigEndian
	attributes := be.Uint16(b[atAttributes:])
	payload := b[batchHeader:]
	if codec := attributes & compressionBits; codec != 0 {
		var err error
		if payload, err = unpack(Compression(codec), payload); err != nil {
			return d.corrupt(base, "record batch cannot be decompressed: %v", err)
		}
	}
	count := int(int32(be.Uint32(b[atCount:])))
	if count < 0 || count > len(payload)/smallestRecord {
		return d.corrupt(base, "record batch of %d bytes claims %d records", len(payload), count)
	}
	r := varReader{rest: payload}
	baseTime, maxTime := int64(be.Uint64(b[atBaseTime:])), int64(be.Uint64(b[atMaxTime:]))
	for i := range count {
		record := Record{Topic: d.topic, Partition: d.partition}
		timeDelta, offsetDelta := r.record(&record)
		if r.bad {
			return d.corrupt(base, "record %d of %d cannot be read", i, count)
		}
		record.Offset = base + offsetDelta
		record.Time = time.UnixMilli(baseTime + timeDelta)
		if attributes&appendTimeBit != 0 {
			record.Time = time.UnixMilli(maxTime)
		}
		if record.Offset >= d.from {
			d.records = append(d.records, record)
		}
	}
	return nil
}

func (d *decoder) corrupt(offset int64, format string, args ...any) error {
	return fmt.Errorf("%w: %s partition %d offset %d: %s", ErrCorrupt, d.topic, d.partition, offset, fmt.Sprintf(format, args...))
}

// unpack decompresses the records of a batch with kafka-go's codecs.
func unpack(c Compression, b []byte) ([]byte, error) {
	codec := compress.Compression(c).Codec()
	if codec == nil {
		return nil, fmt.Errorf("unknown compression %d", c)
	}
	r := codec.NewReader(bytes.NewReader(b))
	defer func() { _ = r.Close() }()
	out := bytes.NewBuffer(make([]byte, 0, 4*len(b)))
	n, err := io.Copy(out, io.LimitReader(r, largestUnpacked+1))
	if err != nil {
		return nil, err
	}
	if n > largestUnpacked {
		return nil, fmt.Errorf("larger than %d bytes", largestUnpacked)
	}
	return out.Bytes(), nil
}
