package rejections

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"weir/eventlog"
	"weir/internal/clickhouse/chtest"
	"weir/projections"
	"weir/projections/foldtest"
	"weir/readmodel/tables"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

func record(project, value string) eventlog.Record {
	return eventlog.Record{Topic: eventlog.RejectionsTopic, Key: []byte(project), Value: []byte(value)}
}

func refusal(kind, reason string, count int, last, sample string) string {
	return fmt.Sprintf(`{"type":%q,"reason":%q,"count":%d,"last":%q,"sample":%q}`, kind, reason, count, last, sample)
}

func TestFold(t *testing.T) {
	f := Projection().New()
	f.Reset()
	for _, r := range []eventlog.Record{
		record("prj_1", refusal("log", "ts: required", 2, "2026-11-21T10:59:59.999Z", "b")),
		record("prj_1", refusal("log", "ts: required", 3, "2026-11-21T10:00:00Z", "a")),
		record("prj_1", refusal("log", "ts: required", 5, "2026-11-21T11:00:00Z", "c")),
		record("prj_1", refusal("", "type: required", 7, "2026-11-21T11:00:00Z", "")),
		record("prj_2", refusal("log", "ts: required", 9, "2026-11-21T11:00:00Z", "d")),
	} {
		if err := f.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, row := range foldtest.Rows(tables.Rejections().ColumnNames(), f.Blocks()[0].Columns) {
		row["hour"] = row["hour"].(time.Time).Format(time.RFC3339)
		row["latest"] = row["latest"].([]any)[1]
		got = append(got, foldtest.Row(row, "project_id", "hour", "type", "reason", "number", "latest"))
	}
	foldtest.Same(t, "rows", got, []string{
		"prj_1 | 2026-11-21T10:00:00Z | log | ts: required | 5 | b",
		"prj_1 | 2026-11-21T11:00:00Z | log | ts: required | 5 | c",
		"prj_1 | 2026-11-21T11:00:00Z |  | type: required | 7 | ",
		"prj_2 | 2026-11-21T11:00:00Z | log | ts: required | 9 | d",
	})
}

func TestRefusals(t *testing.T) {
	f := Projection().New()
	f.Reset()
	const last = "2026-11-21T10:00:00Z"
	for value, want := range map[string]string{
		`nothing`:                                                       "no rejection",
		refusal("log", "r", 0, last, ""):                                "count",
		refusal("log", "r", -1, last, ""):                               "count",
		refusal("lgo", "r", 1, last, ""):                                "unknown value",
		refusal("log", "r", 1, "1500-01-01T00:00:00Z", ""):              "last",
		refusal("log", "r", 1, last, strings.Repeat("x", mostSample+1)): "too long",
	} {
		r := record("prj_1", value)
		if err := f.Add(&r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: error is %v instead of one with %q", value, err, want)
		}
	}
	r := record("", refusal("log", "r", 1, last, ""))
	if err := f.Add(&r); err == nil {
		t.Error("a record without a project is folded")
	}
	if len(f.Blocks()) != 0 {
		t.Error("refused records left rows")
	}
}

// Over several partitions and blocks, on the engines, counts are exact and the newest sample stays.
func TestEngines(t *testing.T) {
	e := foldtest.Start(t, 2)
	var ends []eventlog.Position
	for p := range 2 {
		var values []string
		for i := range 1000 {
			last := time.Date(2026, 11, 21, 10, 0, i, p, time.UTC).Format(time.RFC3339Nano)
			values = append(values, refusal("log", fmt.Sprint("reason ", i%3), i%5+1, last, fmt.Sprint(i)))
		}
		ends = append(ends, e.Append(t, eventlog.RejectionsTopic, p, "prj_1", foldtest.Received, values...))
	}
	p, err := projections.New(projections.Config{
		Log: e.Log, ClickHouse: e.Conn, Blocks: e.Blocks, Projections: []projections.Projection{Projection()},
		BlockRecords: 150, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	foldtest.Until(t, p, projections.NewMonitor(e.Log, e.Conn, []projections.Projection{Projection()}, nil, nil), Name, ends...)
	got := foldtest.Table(t, e.Conn, "SELECT reason, toString(sum(number)), max(latest).sample FROM rejections GROUP BY reason ORDER BY reason")
	foldtest.Same(t, "sums", got, []string{"reason 0 | 2004 | 999", "reason 1 | 2000 | 997", "reason 2 | 1996 | 998"})
}
