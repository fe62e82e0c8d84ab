// Package performance folds performance events into the table of measurements,
// one row each.
package performance

import (
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
const Name = "performance"

// Projection folds the topic of performance events.
func Projection() projections.Projection {
	return projections.Projection{
		Name:    Name,
		Version: Version,
		Topics:  []string{eventlog.EventsTopic(schemas.Performance)},
		Tables:  []tables.Table{tables.PerformanceValues()},
		Measures: []projections.Measure{
			{Table: tables.PerformanceValues(), Rows: "count()", Partition: "`partition`"},
		},
		New: func() projections.Fold { return newFold() },
	}
}

var errNoProject = errors.New("record names no project")

// fold keeps the columns of tables.PerformanceValues. Strings point into records.
type fold struct {
	project, metric, unit, service []string
	ts                             []time.Time
	value                          []float64
	partition                      []uint32
	offset                         []int64

	one   measurement
	visit func(name, value []byte) bool
}

func newFold() *fold {
	f := &fold{}
	f.visit = f.one.member
	return f
}

func (f *fold) Add(r *eventlog.Record) error {
	e, err := schemas.Open(r.Value)
	if err != nil {
		return fmt.Errorf("record is no event: %w", err)
	}
	if e.Type != schemas.Performance {
		return fmt.Errorf("event is of type %s, not performance", e.Type)
	}
	if len(r.Key) == 0 {
		return errNoProject
	}
	f.one = measurement{}
	if err := schemas.Members(e.Data, f.visit); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	if err := f.one.check(); err != nil {
		return err
	}
	f.project = append(f.project, projections.Text(r.Key))
	f.metric = append(f.metric, f.one.metric)
	f.unit = append(f.unit, f.one.unit)
	f.service = append(f.service, f.one.service)
	f.ts = append(f.ts, e.TS)
	f.value = append(f.value, f.one.value)
	f.partition = append(f.partition, uint32(r.Partition))
	f.offset = append(f.offset, r.Offset)
	return nil
}

func (f *fold) Blocks() []projections.Block {
	return []projections.Block{{
		Table:   tables.PerformanceValues(),
		Columns: []any{f.project, f.metric, f.unit, f.service, f.ts, f.value, f.partition, f.offset},
		Rows:    len(f.project),
	}}
}

func (f *fold) Reset() {
	for _, column := range []*[]string{&f.project, &f.metric, &f.unit, &f.service} {
		clear(*column) // lets go of the records
		*column = (*column)[:0]
	}
	f.ts, f.value, f.partition, f.offset = f.ts[:0], f.value[:0], f.partition[:0], f.offset[:0]
	f.one = measurement{}
}
