package readmodel

import (
	"fmt"
	"strings"
	"time"

	"weir/readmodel/tables"
)

// grains are the lengths of time that the rollups of the events table count
// by, the longest first, and the expression that each numbers its pieces with.
var grains = []struct {
	length time.Duration
	number string
}{
	{time.Hour, tables.EventHour},
	{time.Minute, tables.EventMinute},
	{time.Second, tables.EventSecond},
}

// counts is the histogram from the rollups: whole hours where buckets are whole
// hours, whole minutes and seconds at their ends, and events themselves for what is left of
// a second. A part of the table that has no rollups yet is read as it is.
func (q HistogramQuery) counts() Statement {
	var b builder
	project := "project_id = " + b.text(q.Project)
	kinds := ""
	if len(q.Types) > 0 {
		kinds = " AND type IN " + b.texts(q.Types)
	}
	var parts []string
	part := func(bucket, grouped, span string) {
		parts = append(parts, "SELECT "+bucket+" AS bucket, type, count() AS events FROM events WHERE "+project+" AND "+span+kinds+
			" GROUP BY project_id, "+grouped+", type")
	}
	pieces, rest := cover(interval{q.From, q.To}, q.Buckets.Width)
	for _, p := range pieces {
		seconds := int64(p.length / time.Second)
		bucket := fmt.Sprintf("intDiv(%s * %d - %s, %s)", p.number, seconds,
			b.arg("Int64", q.Buckets.First.Unix()), b.arg("Int64", int64(q.Buckets.Width/time.Second)))
		part(bucket, p.number, fmt.Sprintf("%s >= %s AND %s < %s",
			p.number, b.arg("Int64", p.From.Unix()/seconds), p.number, b.arg("Int64", p.To.Unix()/seconds)))
	}
	for _, r := range rest {
		bucket := q.Buckets.index(&b)
		part(bucket, bucket, "ts >= "+b.moment(r.From)+" AND ts < "+b.moment(r.To))
	}
	return b.statement("SELECT bucket, toString(type) AS kind, sum(events) AS events FROM (" + strings.Join(parts, " UNION ALL ") + ") GROUP BY bucket, type")
}

// piece is a span that is whole in one grain.
type piece struct {
	interval
	length time.Duration
	number string
}

// cover cuts a span into pieces that are whole in a grain, of which width is a
// multiple too, and the rest.
func cover(span interval, width time.Duration) (pieces []piece, rest []interval) {
	rest = []interval{span}
	for _, g := range grains {
		if width%g.length != 0 {
			continue
		}
		var left []interval
		for _, r := range rest {
			from, to := ceil(r.From, g.length), r.To.Truncate(g.length)
			if !from.Before(to) {
				left = append(left, r)
				continue
			}
			pieces = append(pieces, piece{interval{from, to}, g.length, g.number})
			left = append(left, interval{r.From, from}, interval{to, r.To})
		}
		rest = rest[:0:0]
		for _, l := range left {
			if l.From.Before(l.To) {
				rest = append(rest, l)
			}
		}
	}
	return pieces, rest
}

func ceil(t time.Time, to time.Duration) time.Time {
	if down := t.Truncate(to); !down.Equal(t) {
		return down.Add(to)
	}
	return t
}
