package readmodel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"pgregory.net/rapid"
)

// histogramRows are what a statement counts, as text.
func (p *portal) histogramRows(s Statement) []string {
	p.t.Helper()
	var lines []string
	err := run(clickhouse.Context(context.Background(), clickhouse.WithSettings(querySettings())), p.conn, s, func(rows driver.Rows) error {
		var bucket int64
		var kind string
		var events uint64
		err := rows.Scan(&bucket, &kind, &events)
		lines = append(lines, fmt.Sprint(bucket, kind, events))
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

// TestCountsAreWhatAScanCounts asks both ways for histograms of any span and width.
func TestCountsAreWhatAScanCounts(t *testing.T) {
	p := newPortal(t)
	start := time.Date(2026, 11, 20, 23, 59, 58, 0, time.UTC)
	var rows []row
	for i := range 3000 {
		// Close together at first, then days apart; many on whole seconds and hours.
		ts := start.Add(time.Duration(i*i) * 7 * time.Millisecond)
		switch i % 5 {
		case 0:
			ts = ts.Truncate(time.Second)
		case 1:
			ts = ts.Truncate(time.Hour)
		}
		rows = append(rows, row{ts: ts, kind: []string{"log", "error", "trace"}[i%3], offset: int64(i)})
	}
	rows = append(rows, row{ts: time.Unix(0, 0).UTC()}, row{ts: time.Date(2200, 12, 31, 23, 59, 59, 999999999, time.UTC)}, row{ts: start, project: "prj_two"})
	p.events(rows...)
	last := int64(3000 * 3000 * 7)
	rapid.Check(t, func(rt *rapid.T) {
		at := func(name string) time.Time {
			d := time.Duration(rapid.Int64Range(-1000, last).Draw(rt, name)) * time.Millisecond
			return start.Add(d).Truncate(rapid.SampledFrom([]time.Duration{1, time.Millisecond, time.Second, time.Hour}).Draw(rt, name+" is whole"))
		}
		from, to := at("from"), at("to")
		if !from.Before(to) {
			from, to = to, from.Add(time.Nanosecond)
		}
		if rapid.IntRange(0, 9).Draw(rt, "all time") == 0 {
			from, to = time.Unix(0, 0).UTC(), time.Date(2200, 12, 31, 23, 59, 59, 999999999, time.UTC).Add(1)
		}
		filter := EventsFilter{Project: "prj_one", From: from, To: to, Types: rapid.SampledFrom([][]string{nil, {"error"}, {"log", "trace"}}).Draw(rt, "types")}
		q := HistogramQuery{filter, CutBuckets(from, to, 0, rapid.IntRange(1, maxBuckets).Draw(rt, "buckets"))}
		if got, want := p.histogramRows(q.counts()), p.histogramRows(q.scan()); !slices.Equal(got, want) {
			rt.Fatalf("%v in %v: counted %v, scanned %v", filter, q.Buckets, got, want)
		}
	})
}

// TestCountsReadTheRollups looks at how the engine reads: the counts, wherever a span is whole.
func TestCountsReadTheRollups(t *testing.T) {
	p := newPortal(t)
	var rows []row
	for i := range 20_000 {
		rows = append(rows, row{ts: noon.Add(time.Duration(i) * 700 * time.Millisecond), offset: int64(i)})
	}
	p.events(rows...)
	from, to := noon.Add(time.Millisecond), noon.Add(3*time.Hour+time.Second)
	q := HistogramQuery{EventsFilter{Project: "prj_one", From: from, To: to}, CutBuckets(from, to, time.Hour, 0)}
	s := q.counts()
	var plan strings.Builder
	err := run(clickhouse.Context(context.Background(), clickhouse.WithSettings(querySettings())), p.conn, Statement{"EXPLAIN " + s.SQL, s.Args}, func(rows driver.Rows) error {
		var line string
		err := rows.Scan(&line)
		plan.WriteString(line + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// The hours may be read from the seconds where both are as short; the events only for the first part of a second.
	if kept, rows := strings.Count(plan.String(), "ReadFromMergeTree (per_"), strings.Count(plan.String(), "ReadFromMergeTree ("); kept != 4 || rows != 5 {
		t.Errorf("%d of %d reads are of rollups, want 4 of 5:\n%s", kept, rows, plan.String())
	}
	if got, want := p.histogramRows(s), p.histogramRows(q.scan()); !slices.Equal(got, want) {
		t.Errorf("counted %v, scanned %v", got, want)
	}
}
