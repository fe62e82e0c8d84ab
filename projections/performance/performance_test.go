package performance

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"weir/eventlog"
	"weir/internal/clickhouse/chtest"
	"weir/projections"
	"weir/projections/foldtest"
	"weir/readmodel/tables"
	"weir/schemas"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

func measured(ts, data string) string { return foldtest.Event(schemas.Performance, ts, data) }

const noon = "2026-11-21T12:00:00Z"

func TestFold(t *testing.T) {
	f := Projection().New()
	f.Reset()
	for _, r := range foldtest.Records(schemas.Performance, "prj_1", 7,
		measured(noon, `{"service":"shop","metric":"http.server.duration","value":153.25,"unit":"ms","route":"/cart"}`),
		measured(noon, `{"metric":"caf\u00e9","value":-1e-3}`),
		measured(noon, `{"metric":"","value":0,"unit":null,"service":null}`),
	) {
		if err := f.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, row := range foldtest.Rows(tables.PerformanceValues().ColumnNames(), f.Blocks()[0].Columns) {
		got = append(got, foldtest.Row(row, "project_id", "metric", "unit", "service", "value", "partition", "offset"))
	}
	foldtest.Same(t, "rows", got, []string{
		"prj_1 | http.server.duration | ms | shop | 153.25 | 0 | 7",
		"prj_1 | café |  |  | -0.001 | 0 | 8",
		"prj_1 |  |  |  | 0 | 0 | 9",
	})
}

func TestRefusals(t *testing.T) {
	f := Projection().New()
	f.Reset()
	for data, want := range map[string]string{
		`{"value":1}`:                        "data.metric: required",
		`{"metric":"m"}`:                     "data.value: required",
		`{"metric":"m","value":"1"}`:         "data.value: must be a number",
		`{"metric":"m","value":1e400}`:       "data.value: must be a number",
		`{"metric":7,"value":1}`:             "data.metric: must be a string",
		`{"metric":"m","value":1,"unit":{}}`: "data.unit: must be a string",
	} {
		r := foldtest.Record(schemas.Performance, "prj_1", 0, measured(noon, data))
		if err := f.Add(&r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v instead of one with %q", data, err, want)
		}
	}
	r := foldtest.Record(schemas.Log, "prj_1", 0, foldtest.Event(schemas.Log, noon, `{"level":"info","message":"m"}`))
	if err := f.Add(&r); err == nil {
		t.Error("a log event is folded")
	}
	if n := f.Blocks()[0].Rows; n != 0 {
		t.Errorf("refused records left %d rows", n)
	}
}

// Over several partitions and blocks, on the engines, each measurement is there once.
func TestEngines(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	e := foldtest.Start(t, 2)
	sums := map[string]int{}
	var values [2][]string
	for range 2000 {
		metric, value, p := fmt.Sprint("metric ", random.IntN(3)), random.IntN(1000), random.IntN(2)
		values[p] = append(values[p], measured(noon, fmt.Sprintf(`{"metric":%q,"value":%d}`, metric, value)))
		sums[metric] += value
	}
	var ends []eventlog.Position
	for p := range values {
		ends = append(ends, e.Append(t, eventlog.EventsTopic(schemas.Performance), p, "prj_1", foldtest.Received, values[p]...))
	}
	all := []projections.Projection{Projection()}
	p, err := projections.New(projections.Config{
		Log: e.Log, ClickHouse: e.Conn, Blocks: e.Blocks, Projections: all, BlockRecords: 150, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	foldtest.Until(t, p, projections.NewMonitor(e.Log, e.Conn, all, nil, nil), Name, ends...)
	var want []string
	for i := range 3 {
		metric := fmt.Sprint("metric ", i)
		want = append(want, fmt.Sprintf("%s | %d", metric, sums[metric]))
	}
	foldtest.Same(t, "sums", foldtest.Table(t, e.Conn, "SELECT metric, sum(value) FROM performance_values GROUP BY metric ORDER BY metric"), want)
}

func BenchmarkFold(b *testing.B) {
	events := make([]string, 10_000)
	for i := range events {
		events[i] = measured(noon, fmt.Sprintf(`{"service":"service-%d","metric":"http.server.duration","value":%d.25,"unit":"ms","route":"/api/products/%d"}`, i%20, i%700, i))
	}
	records := foldtest.Records(schemas.Performance, "prj_1", 0, events...)
	foldtest.Benchmark(b, Projection().New(), records)
}
