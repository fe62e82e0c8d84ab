package eventlog

import (
	"testing"
	"time"

	"weir/internal/broker"
)

// BenchmarkAppend appends sets of 300-byte records to the embedded broker, in this
// process and without fsync: it shows the cost of both ends together.
func BenchmarkAppend(b *testing.B) {
	for _, bench := range []struct {
		name     string
		records  int
		parallel int
	}{{"1000", 1000, 1}, {"100", 100, 1}, {"100x16", 100, 16}, {"1x64", 1, 64}} {
		b.Run(bench.name, func(b *testing.B) {
			server, err := broker.Start(b.Context(), broker.Config{DataDir: b.TempDir(), Unsynced: true})
			if err != nil {
				b.Fatal(err)
			}
			defer server.Close()
			l, err := Open(b.Context(), Config{Brokers: server.Addrs(), Embedded: true, Topics: []Topic{{Name: testTopic}}})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = l.Close(b.Context()) }()
			s := sampleSet(bench.records)
			s.Time = time.Now()
			b.SetParallelism(bench.parallel)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := l.Append(b.Context(), testTopic, 0, s); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N*bench.records)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
