package costs

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"weir/eventlog"
	"weir/projections"
	"weir/projections/foldtest"
	"weir/schemas"
)

// BenchmarkReplay folds a log from its first offset into ClickHouse, all of it in
// the running process but ClickHouse. Use -benchtime 500000x or so.
func BenchmarkReplay(b *testing.B) {
	e := foldtest.Start(b, 1)
	topic := eventlog.EventsTopic(schemas.Cost)
	var end eventlog.Position
	batch := make([]string, 1000)
	for i := range batch {
		batch[i] = costEvent("2026-11-03T00:00:00Z", fmt.Sprintf(`{"service":"service-%d","provider":"aws","region":"eu","amount":%d.123456789,"currency":"USD","period":"2026-11"}`, i%20, i))
	}
	for n := 0; n < b.N; n += len(batch) {
		end = e.Append(b, topic, 0, fmt.Sprint("prj_", n%7), time.Now(), batch[:min(len(batch), b.N-n)]...)
	}
	p, err := projections.New(projections.Config{
		Log: e.Log, ClickHouse: e.Conn, Blocks: e.Blocks, Projections: []projections.Projection{Projection()}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(batch[0])))
	b.ResetTimer()
	foldtest.Until(b, p, projections.NewMonitor(e.Log, e.Conn, []projections.Projection{Projection()}, nil, nil), Name, end)
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
