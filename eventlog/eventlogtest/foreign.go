package eventlogtest

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/eventlog"
)

// foreign: records of other producers, with any compression, key and headers, are
// read like ours, and their event ids come from their place in the log.
func foreign(t *testing.T, s *suite) {
	topic := unique(t)
	l := s.open(t, topic, 1, nil)
	mustAppend(t, l, topic, 0, set(1, 1))
	odd := []*kgo.Record{
		{Topic: topic},
		{Topic: topic, Key: []byte{}, Value: []byte{}},
		{Topic: topic, Key: []byte("\xff\x00"), Value: []byte("no json"), Headers: []kgo.RecordHeader{{Key: "", Value: nil}, {Key: "batch", Value: []byte("short")}, {Key: "index", Value: []byte("1")}}},
		{Topic: topic, Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "batch", Value: make([]byte, 16)}, {Key: "batch", Value: make([]byte, 16)}}},
	}
	codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}
	for _, codec := range codecs {
		c := s.client(t, kgo.ProducerBatchCompression(codec))
		for _, r := range odd {
			again := *r
			if err := c.ProduceSync(patient(t), &again).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustAppend(t, l, topic, 0, set(2, 1))
	got := readAll(t, l, topic, 0)
	if len(got) != len(codecs)*len(odd)+2 {
		t.Fatalf("%d records, want %d", len(got), len(codecs)*len(odd)+2)
	}
	ids := make(map[[16]byte]bool)
	for i, r := range got {
		ids[r.EventID()] = true
		if ours := i == 0 || i == len(got)-1; ours != (r.Batch != [16]byte{}) {
			t.Errorf("record %d has batch %x", i, r.Batch)
		}
	}
	if len(ids) != len(got) {
		t.Errorf("%d event ids for %d records", len(ids), len(got))
	}
	if r := got[3]; string(r.Value) != "no json" || len(r.Headers) == 0 {
		t.Errorf("record is %+v", r)
	}
}

// transactions: what a foreign producer aborted is not read, what it committed is,
// and the markers between do not stop or shift anything.
func transactions(t *testing.T, s *suite) {
	topic := unique(t)
	l := s.open(t, topic, 1, nil)
	c := s.client(t, kgo.TransactionalID(topic))
	write := func(value string, end kgo.TransactionEndTry) {
		if err := c.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := c.ProduceSync(patient(t), &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := c.EndTransaction(patient(t), end); err != nil {
			t.Fatal(err)
		}
	}
	mustAppend(t, l, topic, 0, set(1, 1))
	write("kept", kgo.TryCommit)
	write("aborted", kgo.TryAbort)
	write("kept too", kgo.TryCommit)
	mustAppend(t, l, topic, 0, set(2, 1))
	got := readAll(t, l, topic, 0)
	if len(got) != 4 || string(got[1].Value) != "kept" || string(got[2].Value) != "kept too" || got[3].Batch != [16]byte{2, 1} {
		t.Fatalf("read %d records: %+v", len(got), got)
	}
	var positions eventlog.Positions
	for _, r := range got {
		positions = append(positions, eventlog.Position{Topic: r.Topic, Partition: r.Partition, Next: r.Offset + 1})
	}
	if back, err := eventlog.ParsePositions(positions.String()); err != nil || len(back) != 4 || back[3] != positions[3] {
		t.Errorf("positions %v came back as %v, %v", positions, back, err)
	}
}
