// Package demo makes up a believable day of a small shop: all 13 event types, with a deploy that
// goes wrong in the afternoon, its errors and slow requests, the rollback, and two months of costs.
// The same seed and end give the same events.
package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Options say which day.
type Options struct {
	End    time.Time // the day's end; its events are within the 24 hours before (costs: CostDays)
	Events int       // about how many; at least 500
	Seed   uint64
	// CostDays is how many days of bills there are; 0 means 60. Several days in a row take 1 for
	// all but the first, or each bill would be there many times.
	CostDays int
}

// Event is one event, as /api/ingest takes it.
type Event struct {
	Type string    `json:"type"`
	TS   time.Time `json:"ts"`
	Data any       `json:"data"`
}

// data is an event's payload.
type data = map[string]any

// day is the work of one Make.
type day struct {
	rng    *rand.Rand
	start  time.Time
	events []Event
}

// The bad release is out between these hours of the day.
const (
	badFrom  = 16.2
	badUntil = 18.6
)

// Make makes the events, oldest first.
func Make(o Options) []Event {
	o.Events = max(o.Events, 500)
	d := &day{rng: rand.New(rand.NewPCG(o.Seed, 13)), start: o.End.UTC().Add(-24 * time.Hour).Truncate(time.Second)}
	requests := o.Events * 6 / 100 // each gives about a dozen events
	for range requests {
		d.request(d.moment())
	}
	d.background(o.Events / 4)
	d.failures(o.Events / 50)
	d.people()
	d.deploys()
	d.costs(o.End.UTC(), cmp.Or(o.CostDays, 60))
	last := o.End.UTC()
	d.events = slices.DeleteFunc(d.events, func(e Event) bool { return e.TS.After(last) })
	slices.SortStableFunc(d.events, func(a, b Event) int { return a.TS.Compare(b.TS) })
	return d.events
}

// Bodies cuts events into request bodies of at most size events.
func Bodies(events []Event, size int) ([][]byte, error) {
	var bodies [][]byte
	for part := range slices.Chunk(events, max(size, 1)) {
		body, err := json.Marshal(map[string]any{"events": part})
		if err != nil {
			return nil, fmt.Errorf("encode the demo's events: %w", err)
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

func (d *day) add(kind string, at time.Time, payload data) {
	d.events = append(d.events, Event{kind, at.UTC(), payload})
}

// moment is a time of the day, busier around noon and in the evening.
func (d *day) moment() time.Time {
	for {
		hour := d.rng.Float64() * 24
		clock := math.Mod(float64(d.start.Hour())+hour, 24)
		busy := 0.25 + 0.5*bump(clock, 12, 3.5) + 0.45*bump(clock, 19.5, 2.5)
		if d.rng.Float64() < busy {
			return d.at(hour)
		}
	}
}

func bump(x, center, width float64) float64 {
	return math.Exp(-(x - center) * (x - center) / (2 * width * width))
}

// at is a time so many hours after the day's start.
func (d *day) at(hour float64) time.Time {
	return d.start.Add(time.Duration(hour * float64(time.Hour))).Truncate(time.Microsecond)
}

func (d *day) hour(t time.Time) float64 { return t.Sub(d.start).Hours() }

// bad says whether the release that went wrong was out.
func (d *day) bad(t time.Time) bool { return d.hour(t) >= badFrom && d.hour(t) < badUntil }

func (d *day) release(t time.Time) string {
	switch h := d.hour(t); {
	case h < 9.4:
		return "2.14.0"
	case h >= badFrom && h < badUntil:
		return "2.15.0"
	case h >= badUntil:
		return "2.15.1"
	}
	return "2.14.1"
}

// slow is a log-normal time in milliseconds around the median.
func (d *day) slow(median, spread float64) float64 {
	return math.Round(median*math.Exp(d.rng.NormFloat64()*spread)*100) / 100
}

func pick[T any](d *day, all []T) T { return all[d.rng.IntN(len(all))] }

func (d *day) hex(n int) string {
	const digits = "0123456789abcdef"
	b := make([]byte, n)
	for i := range b {
		b[i] = digits[d.rng.IntN(16)]
	}
	return string(b)
}
