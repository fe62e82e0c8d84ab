package costs

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sort"
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

func costEvent(ts, data string) string { return foldtest.Event(schemas.Cost, ts, data) }

func TestFold(t *testing.T) {
	f := Projection().New()
	f.Reset()
	for _, r := range foldtest.Records(schemas.Cost, "prj_1", 0,
		costEvent("2026-11-03T23:59:59Z", `{"service":"s3","provider":"aws","region":"eu","amount":0.1,"currency":"usd"}`),
		costEvent("2026-11-03T00:00:00Z", `{"service":"s3","provider":"aws","region":"eu","amount":0.2,"currency":"USD","period":"2026-11"}`),
		costEvent("2026-11-03T00:00:00Z", `{"service":"s3","provider":"aws","region":"eu","amount":1e-18,"currency":"EUR","period":"november"}`),
		costEvent("2026-11-03T00:00:00Z", `{"service":"s3","amount":-7.000000001,"currency":"EUR","period":"2026-10","region":null}`),
		costEvent("2026-09-30T00:00:00Z", `{"service":"s3","amount":7,"currency":"EUR","period":"2026-10"}`),
	) {
		if err := f.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, row := range foldtest.Rows(tables.CostRollups().ColumnNames(), f.Blocks()[0].Columns) {
		row["day"] = row["day"].(time.Time).Format(time.DateOnly)
		got = append(got, foldtest.Row(row, "project_id", "day", "currency", "provider", "service", "region", "amount", "events"))
	}
	foldtest.Same(t, "rows", got, []string{
		"prj_1 | 2026-11-03 | USD | aws | s3 | eu | 0.3 | 2",
		"prj_1 | 2026-11-03 | EUR | aws | s3 | eu | 0.000000000000000001 | 1",
		"prj_1 | 2026-10-31 | EUR |  | s3 |  | -7.000000001 | 1",
		"prj_1 | 2026-10-01 | EUR |  | s3 |  | 7 | 1",
	})
}

func TestRefusals(t *testing.T) {
	f := Projection().New()
	f.Reset()
	for name, c := range map[string]struct{ data, want string }{
		"no amount":        {`{"service":"s","currency":"EUR"}`, "data.amount: required"},
		"amount as text":   {`{"service":"s","currency":"EUR","amount":"1"}`, "data.amount"},
		"amount too large": {`{"service":"s","currency":"EUR","amount":1e300}`, "data.amount"},
		"no currency":      {`{"service":"s","amount":1}`, "data.currency: required"},
		"odd currency":     {`{"service":"s","amount":1,"currency":"euro"}`, "data.currency"},
		"odd region":       {`{"service":"s","amount":1,"currency":"EUR","region":4}`, "data.region: must be a string"},
	} {
		r := foldtest.Record(schemas.Cost, "prj_1", 0, costEvent("2026-11-03T00:00:00Z", c.data))
		if err := f.Add(&r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v instead of one with %q", name, err, c.want)
		}
	}
	if n := f.Blocks()[0].Rows; n != 0 {
		t.Errorf("refused records left %d rows", n)
	}
}

// Random amounts in any order, in several partitions and blocks, on the engines:
// the sums are exact to the last digit.
func TestEnginesExact(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	e := foldtest.Start(t, 2)
	want := map[string]schemas.Decimal{}
	var values [2][]string
	for range 2000 {
		amount := fmt.Sprintf("%d.%018d", random.IntN(1_000_000_000), random.Uint64N(1e18))
		currency := []string{"EUR", "USD"}[random.IntN(2)]
		day := 1 + random.IntN(28)
		p := random.IntN(2)
		values[p] = append(values[p], costEvent(fmt.Sprintf("2026-10-%02dT01:02:03Z", day), `{"service":"s","amount":`+amount+`,"currency":"`+currency+`"}`))
		d, err := schemas.ParseDecimal([]byte(amount))
		if err != nil {
			t.Fatal(err)
		}
		k := fmt.Sprintf("2026-10-%02d | %s", day, currency)
		want[k], _ = want[k].Add(d)
	}
	var ends []eventlog.Position
	for p := range values {
		ends = append(ends, e.Append(t, eventlog.EventsTopic(schemas.Cost), p, "prj_1", foldtest.Received, values[p]...))
	}
	p, err := projections.New(projections.Config{
		Log: e.Log, ClickHouse: e.Conn, Blocks: e.Blocks, Projections: []projections.Projection{Projection()},
		BlockRecords: 300, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	foldtest.Until(t, p, projections.NewMonitor(e.Log, e.Conn, []projections.Projection{Projection()}, nil, nil), Name, ends...)
	var lines []string
	for k, d := range want {
		lines = append(lines, k+" | "+strings.TrimRight(strings.TrimRight(d.String(), "0"), "."))
	}
	sort.Strings(lines)
	got := foldtest.Table(t, e.Conn, "SELECT toString(day), currency, toString(sum(amount)) FROM cost_rollups GROUP BY day, currency ORDER BY day, currency")
	foldtest.Same(t, "sums", got, lines)
}

func BenchmarkFold(b *testing.B) {
	events := make([]string, 10_000)
	for i := range events {
		events[i] = costEvent("2026-11-03T00:00:00Z", fmt.Sprintf(
			`{"service":"service-%d","provider":"aws","region":"eu-central-%d","amount":%d.123456789,"currency":"USD","period":"2026-11","tags":{"team":"payments","note":"%s"}}`,
			i%20, i%3, i, strings.Repeat("x", 100)))
	}
	records := foldtest.Records(schemas.Cost, "prj_1", 0, events...)
	foldtest.Benchmark(b, Projection().New(), records)
}

func TestFoldDoesNotAllocatePerRecord(t *testing.T) {
	events := make([]string, 1000)
	for i := range events {
		events[i] = costEvent("2026-11-03T00:00:00Z", fmt.Sprintf(
			`{"service":"service-%d","provider":"aws","region":"eu-central-%d","amount":%d.123456789,"currency":"USD","period":"2026-11"}`, i%20, i%3, i))
	}
	records := foldtest.Records(schemas.Cost, "prj_1", 0, events...)
	foldtest.Allocations(t, Projection().New(), records, 20)
}
