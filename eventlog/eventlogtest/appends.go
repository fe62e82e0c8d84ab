package eventlogtest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/eventlog"
)

// roundTrip: what was appended is read back as it was, with offsets in order.
func roundTrip(t *testing.T, s *suite) {
	topic := unique(t)
	l := s.open(t, topic, 2, nil)
	want := set(7, 3)
	want.Indexes = []int{4, 9, 1000}
	want.Headers = []eventlog.Header{{Key: "trace", Value: []byte("abc")}}
	if first := mustAppend(t, l, topic, 1, want); first != 0 {
		t.Errorf("first offset %d, want 0", first)
	}
	if first := mustAppend(t, l, topic, 1, set(8, 1)); first != 3 {
		t.Errorf("second set at offset %d, want 3", first)
	}
	got := readAll(t, l, topic, 1)
	if len(got) != 4 {
		t.Fatalf("%d records, want 4", len(got))
	}
	for i, r := range got[:3] {
		if r.Topic != topic || r.Partition != 1 || r.Offset != int64(i) || r.Index != want.Indexes[i] || r.Batch != want.Batch ||
			!bytes.Equal(r.Key, want.Key) || !bytes.Equal(r.Value, want.Values[i]) || r.Time.UnixMilli() != want.Time.UnixMilli() ||
			len(r.Headers) != 1 || r.Headers[0].Key != "trace" || string(r.Headers[0].Value) != "abc" {
			t.Errorf("record %d is %+v", i, r)
		}
		if r.EventID() != eventlog.EventID(want.Batch, want.Indexes[i]) {
			t.Errorf("record %d has another event id than its batch and index", i)
		}
	}
	if n := len(readAll(t, l, topic, 0)); n != 0 {
		t.Errorf("the other partition has %d records", n)
	}
	if _, err := l.Append(t.Context(), topic, 2, want); !errors.Is(err, eventlog.ErrUnknownTopic) {
		t.Errorf("append to a partition that does not exist: %v", err)
	}
}

// groupCommit: many appends at once share few record batches, each set stays
// whole, in order and side by side, at the offset its Append returned.
func groupCommit(t *testing.T, s *suite) {
	topic := unique(t)
	registry := prometheus.NewRegistry()
	l := s.open(t, topic, 1, func(cfg *eventlog.Config) { cfg.Registerer = registry })
	const appends, each = 400, 5
	firsts := make([]int64, appends)
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range appends {
		done.Go(func() {
			<-start
			one := set(0, each)
			one.Batch = [16]byte{byte(i), byte(i >> 8), 1}
			first, err := l.Append(patient(t), topic, 0, one)
			if err != nil {
				t.Error(err)
			}
			firsts[i] = first
		})
	}
	close(start)
	done.Wait()
	records := readAll(t, l, topic, 0)
	if len(records) != appends*each {
		t.Fatalf("%d records, want %d", len(records), appends*each)
	}
	for i, first := range firsts {
		for j := range each {
			r := records[int(first)+j]
			if r.Batch != [16]byte{byte(i), byte(i >> 8), 1} || r.Index != j {
				t.Fatalf("set %d is not whole at offset %d: found index %d of %x", i, first, r.Index, r.Batch)
			}
		}
	}
	produces := counter(t, registry, "weir_log_record_batches_total")
	t.Logf("%d appends in %v record batches", appends, produces)
	if produces > appends/2 {
		t.Errorf("%v record batches for %d appends: they should share", produces, appends)
	}
}

// counter adds up a counter over its labels.
func counter(t *testing.T, g prometheus.Gatherer, name string) float64 {
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// largestSet: a body of 5 MiB of small events is one set, one over the limit is
// refused and leaves nothing behind.
func largestSet(t *testing.T, s *suite) {
	topic := unique(t)
	l := s.open(t, topic, 1, nil)
	big := eventlog.Set{Key: []byte("prj_test"), Time: time.Now()}
	for range 5 << 20 / 65 {
		big.Values = append(big.Values, []byte(`{"type":"log","ts":"1970-01-01T00:00:00Z","data":{"message":""}}`))
	}
	mustAppend(t, l, topic, 0, big)
	for len(big.Values) < 200_000 {
		big.Values = append(big.Values, big.Values[0])
	}
	if _, err := l.Append(t.Context(), topic, 0, big); !errors.Is(err, eventlog.ErrTooLarge) {
		t.Fatalf("set over the limit: %v, want ErrTooLarge", err)
	}
	if n := len(readAll(t, l, topic, 0)); n != 5<<20/65 {
		t.Errorf("%d records, want %d", n, 5<<20/65)
	}
}

// compression: every setting is read back the same.
func compression(t *testing.T, s *suite) {
	for _, c := range []eventlog.Compression{eventlog.Snappy, eventlog.LZ4, eventlog.Zstd} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			topic := unique(t)
			l := s.open(t, topic, 1, func(cfg *eventlog.Config) { cfg.Compression = c })
			want := set(1, 500)
			mustAppend(t, l, topic, 0, want)
			got := readAll(t, l, topic, 0)
			if len(got) != 500 {
				t.Fatalf("%d records, want 500", len(got))
			}
			for i, r := range got {
				if !bytes.Equal(r.Value, want.Values[i]) || r.Index != i {
					t.Fatalf("record %d is %+v", i, r)
				}
			}
		})
	}
}
