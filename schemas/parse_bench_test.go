package schemas

import "testing"

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct {
		name string
		body []byte
	}{
		{"log", logBody(1000)},
		{"mixed", mixedBody(1000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			var batch Batch
			b.ReportAllocs()
			b.SetBytes(int64(len(c.body)))
			for b.Loop() {
				if err := batch.Parse(c.body); err != nil || len(batch.Events) != 1000 {
					b.Fatal(err, batch.Rejected)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/event")
		})
	}
}
