package errorgroups

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
	topic := eventlog.EventsTopic(schemas.Error)
	var end eventlog.Position
	batch := make([]string, 1000)
	for i := range batch {
		batch[i] = exception("2026-11-21T09:10:00Z", fmt.Sprintf(`{"name":"TypeError","message":"Cannot read properties of undefined (reading '%d')","release":"1.1.0","environment":"prod","stack":"TypeError: x\n    at handler%d (/srv/app/dist/server.js:10:%d)\n    at next (/srv/app/node_modules/express/lib/router.js:5:1)"}`, i, i%100, i))
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
