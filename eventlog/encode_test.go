package eventlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/protocol"
	"pgregory.net/rapid"
)

var allCompressions = []Compression{Uncompressed, Snappy, LZ4, Zstd}

// failer is what testing and rapid have in common here.
type failer interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// encodeSets makes the record batch an appender would make of sets.
func encodeSets(t failer, sets []Set, c Compression, mark producerMark) []byte {
	batch := recordBatch{baseTime: sets[0].Time.UnixMilli(), maxTime: sets[0].Time.UnixMilli(), producer: mark, compression: c}
	records := []byte{}
	for i := range sets {
		before := len(records)
		records = appendSet(records, &sets[i], batch.count, batch.baseTime)
		if got, limit := len(records)-before, setSize(&sets[i]); got > limit {
			t.Fatalf("set of %d bytes, setSize says at most %d", got, limit)
		}
		batch.count += len(sets[i].Values)
		batch.maxTime = max(batch.maxTime, sets[i].Time.UnixMilli())
	}
	b := make([]byte, batchHeader)
	if c == Uncompressed {
		b = append(b, records...)
	} else {
		var err error
		if b, err = pack(b, c, records); err != nil {
			t.Fatal(err)
		}
	}
	putBatchHeader(b, batch)
	return b
}

func drawSet(t *rapid.T) Set {
	s := Set{
		Key:   rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "key"),
		Time:  time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "time")),
		Batch: [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "batch")),
	}
	for range rapid.IntRange(1, 20).Draw(t, "values") {
		s.Values = append(s.Values, rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "value"))
		s.Indexes = append(s.Indexes, rapid.IntRange(0, 1<<20).Draw(t, "index"))
	}
	for range rapid.IntRange(0, 3).Draw(t, "headers") {
		s.Headers = append(s.Headers, Header{Key: rapid.StringN(0, 10, 40).Draw(t, "name"), Value: rapid.SliceOf(rapid.Byte()).Draw(t, "content")})
	}
	return s
}

// TestEncoderAgainstOtherDecoder: what we encode, kafka-go and our own decoder
// both read back as it was.
func TestEncoderAgainstOtherDecoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := []Set{drawSet(t), drawSet(t)}
		mark := producerMark{id: rapid.Int64Range(0, 1<<60).Draw(t, "producer"), epoch: 3, sequence: rapid.Int32Range(0, 1<<30).Draw(t, "sequence")}
		compression := rapid.SampledFrom(allCompressions).Draw(t, "compression")
		batch := encodeSets(t, sets, compression, mark)
		compareWithOther(t, sets, batch)
		compareWithOurs(t, sets, batch)
	})
}

func compareWithOther(t *rapid.T, sets []Set, batch []byte) {
	var rs protocol.RecordSet
	framed := binary.BigEndian.AppendUint32(nil, uint32(len(batch)))
	if _, err := rs.ReadFrom(bytes.NewReader(append(framed, batch...))); err != nil {
		t.Fatalf("kafka-go refuses the batch: %v", err)
	}
	offset := int64(0)
	for _, s := range sets {
		for i, want := range s.Values {
			r, err := rs.Records.ReadRecord()
			if err != nil {
				t.Fatalf("record %d: %v", offset, err)
			}
			key, _ := protocol.ReadAll(r.Key)
			value, _ := protocol.ReadAll(r.Value)
			if r.Offset != offset || !r.Time.Equal(s.Time) || !bytes.Equal(key, s.Key) || !bytes.Equal(value, want) {
				t.Fatalf("record %d is %v %q %q, want %v %q %q", r.Offset, r.Time, key, value, s.Time, s.Key, want)
			}
			n := len(r.Headers)
			if n != len(s.Headers)+2 || string(r.Headers[n-2].Value) != string(s.Batch[:]) || binary.BigEndian.Uint32(r.Headers[n-1].Value) != uint32(s.Indexes[i]) {
				t.Fatalf("headers %v", r.Headers)
			}
			offset++
		}
	}
	if _, err := rs.Records.ReadRecord(); !errors.Is(err, io.EOF) {
		t.Fatalf("more records than were encoded: %v", err)
	}
}

func compareWithOurs(t *rapid.T, sets []Set, batch []byte) {
	d := decoder{topic: "t", partition: 7}
	if err := d.decode(batch); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range sets {
		for i, want := range s.Values {
			r := d.records[n]
			if r.Offset != int64(n) || r.Batch != s.Batch || r.Index != s.Indexes[i] || !bytes.Equal(r.Value, want) || !bytes.Equal(r.Key, s.Key) || !r.Time.Equal(s.Time) || len(r.Headers) < len(s.Headers) {
				t.Fatalf("record %d is %+v", n, r)
			}
			n++
		}
	}
	if len(d.records) != n || d.next != int64(n) {
		t.Fatalf("%d records up to %d, want %d", len(d.records), d.next, n)
	}
}

// FuzzDecode: no bytes make the decoder panic, and whatever it hands out lies in
// the wanted range in order.
func FuzzDecode(f *testing.F) {
	sets := []Set{{Key: []byte("p"), Time: time.UnixMilli(1), Values: [][]byte{[]byte("a"), nil}}}
	for _, c := range allCompressions {
		f.Add(encodeSets(f, sets, c, producerMark{}), int64(0))
	}
	f.Add([]byte{}, int64(3))
	f.Fuzz(func(t *testing.T, data []byte, from int64) {
		if len(data) >= batchHeader { // let damage get past the checksum
			putInt32(data[atChecksum:], int(checksum(data)))
		}
		d := decoder{topic: "t", from: from, next: from}
		if err := d.decode(data); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("error %v is not ErrCorrupt", err)
		}
		for i := range d.records {
			if d.records[i].Offset < from {
				t.Fatalf("record at offset %d, asked from %d", d.records[i].Offset, from)
			}
			d.records[i].EventID()
		}
	})
}

// TestDecodeDamage: a flipped bit is reported with its place, and whole batches
// before the damaged one are still handed out.
func TestDecodeDamage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		good := encodeSets(t, []Set{drawSet(t)}, Uncompressed, producerMark{})
		count := int64(binary.BigEndian.Uint32(good[atCount:]))
		bad := bytes.Clone(good)
		binary.BigEndian.PutUint64(bad, uint64(count))
		bad[rapid.IntRange(atAttributes, len(bad)-1).Draw(t, "where")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")

		d := decoder{topic: "t", partition: 7}
		if err := d.decode(append(bytes.Clone(good), bad...)); err != nil || d.next != count {
			t.Fatalf("%d of %d records, %v", d.next, count, err)
		}
		d = decoder{topic: "t", partition: 7, from: count, next: count}
		if err := d.decode(bad); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("damaged batch gave %v", err)
		}
	})
}

// TestEncodeAllocates nothing once the buffer has room.
func TestEncodeAllocs(t *testing.T) {
	s := sampleSet(1000)
	buf := make([]byte, 0, setSize(&s))
	if n := testing.AllocsPerRun(20, func() { buf = appendSet(buf[:0], &s, 0, s.Time.UnixMilli()) }); n != 0 {
		t.Errorf("encoding allocates %v times, want 0", n)
	}
}

// TestDecodeAllocs: one slice of records for a batch, whatever it holds.
func TestDecodeAllocs(t *testing.T) {
	batch := encodeSets(t, []Set{sampleSet(1000)}, Uncompressed, producerMark{})
	n := testing.AllocsPerRun(20, func() {
		d := decoder{topic: "t"}
		if err := d.decode(batch); err != nil || len(d.records) != 1000 {
			t.Fatalf("%d records, %v", len(d.records), err)
		}
	})
	if n > 2 {
		t.Errorf("decoding 1000 records allocates %v times, want at most 2", n)
	}
}

// TestSmallestEventsFit: a body of 5 MiB of the smallest legal events is one set.
func TestSmallestEventsFit(t *testing.T) {
	event := []byte(`{"type":"log","ts":"1970-01-01T00:00:00Z","data":{"message":""}}`)
	s := Set{Key: make([]byte, 40), Time: time.UnixMilli(1 << 42)}
	for range 5 << 20 / (len(event) + 1) {
		s.Values = append(s.Values, event)
	}
	size := setSize(&s) + batchHeader
	t.Logf("%d events make a record batch of at most %d bytes", len(s.Values), size)
	if size > defaultRecordBatch {
		t.Errorf("%d bytes do not fit into %d", size, defaultRecordBatch)
	}
}

func sampleSet(n int) Set {
	s := Set{Key: []byte("prj_0123456789abcdef"), Time: time.UnixMilli(1_800_000_000_000), Batch: [16]byte{1}}
	for range n {
		s.Values = append(s.Values, bytes.Repeat([]byte("x"), 300))
	}
	return s
}

func BenchmarkEncode(b *testing.B) {
	s := sampleSet(1000)
	buf := make([]byte, 0, setSize(&s)+batchHeader)
	b.SetBytes(300 * 1000)
	for b.Loop() {
		buf = appendSet(buf[:batchHeader], &s, 0, s.Time.UnixMilli())
		putBatchHeader(buf, recordBatch{count: 1000})
	}
}

func BenchmarkDecode(b *testing.B) {
	batch := encodeSets(b, []Set{sampleSet(1000)}, Uncompressed, producerMark{})
	b.SetBytes(300 * 1000)
	b.ReportAllocs()
	for b.Loop() {
		d := decoder{topic: "t"}
		if err := d.decode(batch); err != nil {
			b.Fatal(err)
		}
	}
}
