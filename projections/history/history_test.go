package history

import (
	"fmt"
	"log/slog"
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

func TestFold(t *testing.T) {
	f := Projection().New()
	f.Reset()
	good := []string{
		`{"type":"log","ts":"2026-11-21T09:00:00.123456789Z","data":{"message":"hi \"you\"","n": 1.50}}`,
		`{"ts":"2200-12-31T23:59:59Z","trace":"abc","data":{"message":""},"type":"log","n":[1, 2]}`,
	}
	for i, r := range foldtest.Records(schemas.Log, "prj_1", 7, good...) {
		if err := f.Add(&r); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
	}
	block := f.Blocks()[0]
	var got []string
	for _, row := range foldtest.Rows(tables.Events().ColumnNames(), block.Columns) {
		got = append(got, foldtest.Row(row, "project_id", "type", "ts", "received_at", "data", "extra", "partition", "offset"))
	}
	code := fmt.Sprint(typeCodes[schemas.Log])
	foldtest.Same(t, "rows", got, []string{
		"prj_1 | " + code + " | 2026-11-21 09:00:00.123456789 +0000 UTC | 2026-11-21 10:00:00.123 +0000 UTC | {\"message\":\"hi \\\"you\\\"\",\"n\": 1.50} |  | 0 | 7",
		"prj_1 | " + code + " | 2200-12-31 23:59:59 +0000 UTC | 2026-11-21 10:00:00.123 +0000 UTC | {\"message\":\"\"} | {\"trace\":\"abc\",\"n\":[1, 2]} | 0 | 8",
	})
}

func TestRefusals(t *testing.T) {
	f := Projection().New()
	f.Reset()
	for name, r := range map[string]eventlog.Record{
		"no JSON":       foldtest.Record(schemas.Log, "prj_1", 0, "garbage"),
		"a tombstone":   foldtest.Record(schemas.Log, "prj_1", 0, ""),
		"unknown type":  foldtest.Record(schemas.Log, "prj_1", 0, `{"type":"nothing","ts":"2026-11-21T09:00:00Z","data":{}}`),
		"no project":    foldtest.Record(schemas.Log, "", 0, foldtest.Event(schemas.Log, "2026-11-21T09:00:00Z", `{"message":"x"}`)),
		"impossible ts": foldtest.Record(schemas.Log, "prj_1", 0, foldtest.Event(schemas.Log, "9999-11-21T09:00:00Z", `{"message":"x"}`)),
	} {
		if err := f.Add(&r); err == nil {
			t.Errorf("%s: folded", name)
		}
	}
	if n := f.Blocks()[0].Rows; n != 0 {
		t.Errorf("refused records left %d rows", n)
	}
}

// Every type, on the engines.
func TestEngines(t *testing.T) {
	e := foldtest.Start(t, 1)
	var ends []eventlog.Position
	var want []string
	for _, kind := range schemas.Types() {
		event := foldtest.Event(kind, "2026-11-21T09:00:00.5Z", `{"x":"`+kind.String()+`"}`)
		ends = append(ends, e.Append(t, eventlog.EventsTopic(kind), 0, "prj_1", foldtest.Received, event, "garbage"))
		want = append(want, "prj_1 | "+kind.String()+` | 2026-11-21 09:00:00.500000000 | {"x":"`+kind.String()+`"}`)
	}
	p, err := projections.New(projections.Config{
		Log: e.Log, ClickHouse: e.Conn, Blocks: e.Blocks, Projections: []projections.Projection{Projection()}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	foldtest.Until(t, p, projections.NewMonitor(e.Log, e.Conn, []projections.Projection{Projection()}, nil, nil), Name, ends...)
	got := foldtest.Table(t, e.Conn, "SELECT project_id, toString(type), toString(ts), data FROM events ORDER BY toString(type)")
	foldtest.Same(t, "events", got, want)
	if n := foldtest.Table(t, e.Conn, "SELECT toString(count()) FROM quarantine WHERE projection = 'history'"); n[0] != "13" {
		t.Errorf("%s records are in quarantine instead of 13", n[0])
	}
}

// event300 is about 300 bytes, as most are.
var event300 = foldtest.Event(schemas.Log, "2026-11-21T09:00:00.123456Z",
	`{"level":"info","message":"`+strings.Repeat("request served ", 8)+`","module":"http","fields":{"status":200,"route":"/api/ingest","ms":12.5}}`)

func BenchmarkFold(b *testing.B) {
	records := foldtest.Records(schemas.Log, "prj_1", 0, strings.Split(strings.Repeat(event300+"\n", 10_000), "\n")[:10_000]...)
	foldtest.Benchmark(b, Projection().New(), records)
}

func TestFoldDoesNotAllocatePerRecord(t *testing.T) {
	records := foldtest.Records(schemas.Log, "prj_1", 0, strings.Split(strings.Repeat(event300+"\n", 1000), "\n")[:1000]...)
	foldtest.Allocations(t, Projection().New(), records, 20)
}
