// Package rejections folds what gateways tell of refused events into counts per
// project, hour, type and reason, with the newest sample.
package rejections

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"weir/eventlog"
	"weir/projections"
	"weir/readmodel/tables"
	"weir/schemas"
)

// Version of the fold. Raise it when the same log would give other rows.
const Version = 1

// Name of the projection.
const Name = "rejections"

// Projection folds the topic of rejections.
func Projection() projections.Projection {
	return projections.Projection{
		Name:     Name,
		Version:  Version,
		Topics:   []string{eventlog.RejectionsTopic},
		Tables:   []tables.Table{tables.Rejections()},
		Measures: []projections.Measure{{Table: tables.Rejections(), Rows: "sum(number)", Of: refused}},
		New:      func() projections.Fold { return &fold{rows: map[key]int{}} },
	}
}

// told is the value of a record; eventlog.RejectionsTopic describes it.
type told struct {
	Type   string    `json:"type"`
	Reason string    `json:"reason"`
	Count  int64     `json:"count"`
	Last   time.Time `json:"last"`
	Sample string    `json:"sample"`
}

// key is one row.
type key struct {
	project      string
	hour         int64 // hours since 1970
	kind, reason string
}

type row struct {
	number uint64
	at     time.Time
	sample string
}

type fold struct {
	rows map[key]int
	keys []key
	sums []row
}

// mostSample is more than gateways send; the log may hold anything.
const mostSample = 16 << 10

func (f *fold) Add(r *eventlog.Record) error {
	var t told
	if err := json.Unmarshal(r.Value, &t); err != nil {
		return fmt.Errorf("record is no rejection: %w", err)
	}
	_, known := schemas.ParseType(t.Type)
	switch {
	case len(r.Key) == 0:
		return errors.New("record names no project")
	case t.Count <= 0:
		return errors.New("count: must be above zero")
	case t.Type != "" && !known:
		return fmt.Errorf("type: unknown value %q", t.Type)
	case len(t.Sample) > mostSample || len(t.Reason) > mostSample:
		return errors.New("reason or sample is too long")
	case t.Last.Year() < 1970 || t.Last.Year() > 2105:
		return errors.New("last: outside the years 1970 to 2105")
	}
	f.count(key{string(r.Key), t.Last.Unix() / 3600, t.Type, t.Reason}, row{uint64(t.Count), t.Last.UTC().Truncate(time.Millisecond), t.Sample})
	return nil
}

func (f *fold) count(k key, more row) {
	i, ok := f.rows[k]
	if !ok {
		f.rows[k] = len(f.keys)
		f.keys, f.sums = append(f.keys, k), append(f.sums, more)
		return
	}
	sum := &f.sums[i]
	sum.number += more.number
	// The greater of two tuples is kept, as ClickHouse's max does.
	if more.at.After(sum.at) || (more.at.Equal(sum.at) && more.sample > sum.sample) {
		sum.at, sum.sample = more.at, more.sample
	}
}

func (f *fold) Blocks() []projections.Block {
	n := len(f.keys)
	if n == 0 {
		return nil
	}
	project, kind, reason := make([]string, n), make([]string, n), make([]string, n)
	hour, number, latest := make([]time.Time, n), make([]uint64, n), make([][]any, n)
	for i, k := range f.keys {
		project[i], kind[i], reason[i] = k.project, k.kind, k.reason
		hour[i] = time.Unix(k.hour*3600, 0).UTC()
		number[i] = f.sums[i].number
		latest[i] = []any{f.sums[i].at, f.sums[i].sample}
	}
	return []projections.Block{{
		Table: tables.Rejections(), Columns: []any{project, hour, kind, reason, number, latest}, Rows: n,
	}}
}

func (f *fold) Reset() {
	clear(f.rows)
	clear(f.keys)
	clear(f.sums)
	f.keys, f.sums = f.keys[:0], f.sums[:0]
}
