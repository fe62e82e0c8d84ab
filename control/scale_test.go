package control

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"weir/eventlog"
	"weir/internal/httpapi"
)

// BenchmarkStart folds a control log of 50,000 projects with a key each, as a node does when it starts.
func BenchmarkStart(b *testing.B) {
	log := newMemLog()
	ring := testKeyring(b)
	for i := range 50_000 {
		project := fmt.Sprintf("prj_%016d", i)
		sum := make([]byte, 32)
		binary.BigEndian.PutUint64(sum, uint64(i))
		set := eventlog.Set{Key: []byte(project)}
		for _, f := range []fact{
			projectCreated{Name: "n"}, secretSet{Sealed: ring.Seal(purposeWebhookSecret, project, NewSecret("x"))},
			keyCreated{ID: fmt.Sprintf("%012d", i), SHA256: sum, Scopes: httpapi.ScopeAll.Names()},
		} {
			v, err := on(project, f).encode()
			if err != nil {
				b.Fatal(err)
			}
			set.Values = append(set.Values, v)
		}
		_, _ = log.Append(context.Background(), eventlog.ControlTopic, 0, set)
	}
	records := log.snapshot()
	for b.Loop() {
		d, err := NewDirectory(Config{Log: log, Keyring: ring})
		if err != nil {
			b.Fatal(err)
		}
		const piece = 10_000
		for at := 0; at < len(records); at += piece {
			to := min(at+piece, len(records))
			d.take(eventlog.Chunk{Records: records[at:to], Next: int64(to), HighWatermark: int64(len(records))})
		}
		begun := time.Now()
		e, _ := on("prj_0000000000000007", keyRevoked{ID: "000000000007"}).encode()
		n := int64(len(records))
		d.take(eventlog.Chunk{Records: []eventlog.Record{{Offset: n, Value: e}}, Next: n + 1, HighWatermark: n + 1})
		b.ReportMetric(float64(time.Since(begun).Microseconds()), "µs/change")
	}
	b.ReportMetric(float64(len(records))*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
