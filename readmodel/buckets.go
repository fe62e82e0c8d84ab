package readmodel

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Bounds of a series: how many buckets it has unless asked, and at most.
const (
	defaultBuckets = 60
	maxBuckets     = 500
)

// widths are the bucket widths chosen from: each looks natural on a time axis.
var widths = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	day, 2 * day, 7 * day, 14 * day, 30 * day, 90 * day, 180 * day, 365 * day, 5 * 365 * day,
}

const day = 24 * time.Hour

// Buckets cut a span of time into pieces of one width, aligned to multiples of
// the width since 1970. The first and last piece are whole, whatever the span.
type Buckets struct {
	First time.Time // start of the first bucket
	Width time.Duration
	Count int
}

// CutBuckets covers [from, to). With width 0 it takes the smallest natural
// width that needs at most most buckets.
func CutBuckets(from, to time.Time, width time.Duration, most int) Buckets {
	if width > 0 {
		return cut(from, to, width)
	}
	for _, w := range widths {
		if b := cut(from, to, w); b.Count <= most {
			return b
		}
	}
	return cut(from, to, roundUp(to.Sub(from)/time.Duration(max(most-1, 1)), day))
}

func roundUp(d, to time.Duration) time.Duration { return (d/to + 1) * to }

func cut(from, to time.Time, width time.Duration) Buckets {
	first := floorDiv(from.UnixNano(), int64(width))
	last := floorDiv(to.UnixNano()-1, int64(width))
	return Buckets{First: time.Unix(0, first*int64(width)).UTC(), Width: width, Count: int(max(last-first, 0)) + 1}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Start is when bucket i begins. It counts in seconds, of which widths are
// whole: all of time in nanoseconds does not fit a time.Duration.
func (b Buckets) Start(i int) time.Time {
	return time.Unix(b.First.Unix()+int64(i)*int64(b.Width/time.Second), 0).UTC()
}

// index is the number of the bucket of the column ts as SQL.
func (b Buckets) index(w *builder) string {
	return fmt.Sprintf("intDiv(toUnixTimestamp64Nano(ts) - %s, %s)",
		w.arg("Int64", b.First.UnixNano()), w.arg("Int64", int64(b.Width)))
}

// maxWidth keeps the ends of buckets within what nanoseconds since 1970 can say.
const maxWidth = 36500 * day

var intervalForm = regexp.MustCompile(`^([1-9][0-9]{0,8})(s|m|h|d)$`)

var intervalUnits = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": day}

// width reads the parameter interval, such as 30s, 5m, 1h or 7d; 0 when absent.
func (p *params) width() time.Duration {
	s := p.String("interval", 16)
	if s == "" {
		return 0
	}
	m := intervalForm.FindStringSubmatch(s)
	if m == nil {
		p.Bad("interval", "must be a number and s, m, h or d, such as 30s, 5m, 1h, 7d")
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // at most nine digits
	if time.Duration(n) > maxWidth/intervalUnits[m[2]] {
		p.Bad("interval", "must be at most 36500d")
		return 0
	}
	return time.Duration(n) * intervalUnits[m[2]]
}

// series reads the parameters interval and buckets, of which only one may be given.
type series struct {
	Width   time.Duration
	Buckets int
}

func (p *params) series() series {
	s := series{p.width(), p.Int("buckets", defaultBuckets, 1, maxBuckets)}
	if p.values.Get("interval") != "" && p.values.Get("buckets") != "" {
		p.Bad("buckets", "give either interval or buckets")
	}
	return s
}

// cut makes the buckets of a span, or the 400 that says the interval is too fine for it.
func (s series) cut(span interval, p *params) (Buckets, error) {
	b := CutBuckets(span.From, span.To, s.Width, s.Buckets)
	if b.Count > maxBuckets {
		p.Bad("interval", fmt.Sprintf("needs %d buckets from %s to %s, at most %d are given: take a wider interval or a shorter range",
			b.Count, span.From.Format(time.RFC3339), span.To.Format(time.RFC3339), maxBuckets))
	}
	return b, p.err()
}
