package errorgroups

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"weir/eventlog"
	"weir/internal/clickhouse/chtest"
	"weir/projections"
	"weir/projections/foldtest"
	"weir/readmodel/tables"
	"weir/schemas"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

func exception(ts, data string) string { return foldtest.Event(schemas.Error, ts, data) }

var sample = []string{
	exception("2026-11-21T09:10:00Z", `{"name":"TypeError","message":"x is undefined","fingerprint":["x"],"release":"1.1.0","environment":"prod","service":"web","user":{"id":7},"odd\"name":1}`),
	exception("2026-11-21T08:20:00Z", `{"name":"TypeError","message":"x is undefined","fingerprint":["x"],"release":"1.0.0","environment":"dev","stack":["a","b"],"request":{"url":"/x"}}`),
	exception("2026-11-21T09:50:00.000000001Z", `{"name":"TypeError","message":"x is undefined","fingerprint":["x"],"environment":"prod"}`),
	exception("2026-11-21T09:10:00Z", `{"name":"IOError","message":"disk full"}`),
}

func TestFold(t *testing.T) {
	f := Projection().New()
	f.Reset()
	for _, r := range foldtest.Records(schemas.Error, "prj_1", 0, sample...) {
		if err := f.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	blocks := f.Blocks()
	var groups, hours, facets, occurrences []string
	for _, row := range foldtest.Rows(tables.ErrorGroups().ColumnNames(), blocks[0].Columns) {
		latest, first, last := row["latest"].([]any), row["first_release"].([]any), row["last_release"].([]any)
		groups = append(groups, fmt.Sprintf("%v %v..%v %v %v %v..%v", row["count"], clock(row["first_seen"]), clock(row["last_seen"]), latest[2], clock(latest[0]), first[1], last[1]))
		if !strings.HasPrefix(latest[5].(string), `{"algorithm":`) {
			t.Errorf("explanation is %q", latest[5])
		}
	}
	for _, row := range foldtest.Rows(tables.ErrorGroupHours().ColumnNames(), blocks[1].Columns) {
		hours = append(hours, fmt.Sprintf("%v %v", clock(row["hour"]), row["count"]))
	}
	for _, row := range foldtest.Rows(tables.ErrorGroupFacets().ColumnNames(), blocks[2].Columns) {
		facets = append(facets, fmt.Sprintf("%v %v %v %v..%v", row["facet"], row["value"], row["count"], clock(row["first_seen"]), clock(row["last_seen"])))
	}
	for _, row := range foldtest.Rows(tables.ErrorOccurrences().ColumnNames(), blocks[3].Columns) {
		occurrences = append(occurrences, foldtest.Row(row, "name", "message", "release", "stack", "request", "metadata", "offset"))
	}
	foldtest.Same(t, "groups", groups, []string{
		"3 08:20:00..09:50:00 TypeError 09:50:00 1.0.0..1.1.0",
		"1 09:10:00..09:10:00 IOError 09:10:00 ..",
	})
	foldtest.Same(t, "hours", hours, []string{"09:00:00 2", "08:00:00 1", "09:00:00 1"})
	foldtest.Same(t, "facets", facets, []string{
		"release 1.1.0 1 09:10:00..09:10:00", "environment prod 2 09:10:00..09:50:00", "service web 1 09:10:00..09:10:00",
		"release 1.0.0 1 08:20:00..08:20:00", "environment dev 1 08:20:00..08:20:00",
	})
	foldtest.Same(t, "occurrences", occurrences, []string{
		`TypeError | x is undefined | 1.1.0 |  |  | {"user":{"id":7},"odd\"name":1} | 0`,
		`TypeError | x is undefined | 1.0.0 | ["a","b"] | {"url":"/x"} |  | 1`,
		`TypeError | x is undefined |  |  |  |  | 2`,
		`IOError | disk full |  |  |  |  | 3`,
	})
}

func clock(t any) string { return t.(time.Time).Format(time.TimeOnly) }

func TestHostileFieldsFold(t *testing.T) {
	f := Projection().New()
	f.Reset()
	for i, r := range foldtest.Records(schemas.Error, "prj_1", 0,
		exception("1970-01-01T00:00:00Z", `{"message":"`+strings.Repeat("é", 1<<20)+`"}`),
		exception("2200-01-01T00:00:00Z", `{"name":"x","stack":5,"service":{"a":1},"release":null}`),
		exception("2026-01-01T00:00:00Z", `{"name":"","message":"\u0000\u001b[31m","stack":"`+strings.Repeat(`  at f (a.js:1:2)\n`, 20000)+`"}`),
	) {
		if err := f.Add(&r); err != nil {
			t.Errorf("event %d: %v", i, err)
		}
	}
	for _, row := range foldtest.Rows(tables.ErrorGroups().ColumnNames(), f.Blocks()[0].Columns) {
		for _, v := range row["latest"].([]any)[2:5] {
			if len(v.(string)) > groupText {
				t.Errorf("a group keeps %d bytes of text", len(v.(string)))
			}
		}
	}
}

// Groups read from the engines do not depend on the order of the events or on
// where blocks end.
func TestEnginesAnyOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var events []string
	for i := range 300 {
		events = append(events, exception(fmt.Sprintf("2026-11-%02dT%02d:00:00Z", 1+random.IntN(28), random.IntN(24)),
			fmt.Sprintf(`{"name":"E%d","message":"m","release":"1.%d","environment":"e%d","n":%d}`, random.IntN(5), random.IntN(9), random.IntN(3), i)))
	}
	var first []string
	for round, block := range []int{1000, 7} {
		e := foldtest.Start(t, 1)
		var end eventlog.Position
		shuffled := foldtest.Shuffled(events, seed+uint64(round))
		for len(shuffled) > 0 {
			end = e.Append(t, eventlog.EventsTopic(schemas.Error), 0, "prj_1", foldtest.Received, shuffled[:50]...)
			shuffled = shuffled[50:]
		}
		p, err := projections.New(projections.Config{
			Log: e.Log, ClickHouse: e.Conn, Blocks: e.Blocks, Projections: []projections.Projection{Projection()}, BlockRecords: block, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		foldtest.Until(t, p, projections.NewMonitor(e.Log, e.Conn, []projections.Projection{Projection()}, nil, nil), Name, end)
		got := foldtest.Table(t, e.Conn, `SELECT hex(fingerprint), toString(sum(count)), toString(min(first_seen)), toString(max(last_seen)), max(latest).name,
			toString(max(latest).ts), min(first_release).release, max(last_release).release FROM error_groups GROUP BY project_id, fingerprint ORDER BY 1`)
		got = append(got, foldtest.Table(t, e.Conn, `SELECT hex(fingerprint), facet, value, toString(sum(count)), toString(min(first_seen)), toString(max(last_seen)) FROM error_group_facets GROUP BY fingerprint, facet, value ORDER BY 1, 2, 3`)...)
		got = append(got, foldtest.Table(t, e.Conn, `SELECT hex(fingerprint), toString(hour), toString(sum(count)) FROM error_group_hours GROUP BY fingerprint, hour ORDER BY 1, 2`)...)
		if first == nil {
			first = got
			continue
		}
		foldtest.Same(t, "rows in another order and other blocks", got, first)
	}
	if len(first) < 5 {
		t.Errorf("only %d rows were compared", len(first))
	}
}

func BenchmarkFold(b *testing.B) {
	events := make([]string, 10_000)
	for i := range events {
		events[i] = exception("2026-11-21T09:10:00Z", fmt.Sprintf(
			`{"name":"TypeError","message":"Cannot read properties of undefined (reading '%d')","release":"1.1.0","environment":"prod","stack":"TypeError: x\n    at handler%d (/srv/app/dist/server.js:10:%d)\n    at next (/srv/app/node_modules/express/lib/router.js:5:1)"}`, i, i%100, i))
	}
	records := foldtest.Records(schemas.Error, "prj_1", 0, events...)
	foldtest.Benchmark(b, Projection().New(), records)
}
