// Package history folds every event of every type into the events table: one
// row per record, as it was sent.
package history

import (
	"errors"
	"fmt"

	"weir/eventlog"
	"weir/internal/native"
	"weir/projections"
	"weir/readmodel/tables"
	"weir/schemas"
)

// Version of the fold. Raise it when the same log would give other rows.
const Version = 2

// Name of the projection.
const Name = "history"

// Projection folds the topics of all event types.
func Projection() projections.Projection {
	return projections.Projection{
		Name:    Name,
		Version: Version,
		Topics:  eventlog.EventsTopics(),
		Tables:  []tables.Table{tables.Events()},
		Measures: []projections.Measure{
			{Table: tables.Events(), Rows: "count()", Topic: "concat('weir.events.', toString(type))", Partition: "`partition`"},
		},
		New: func() projections.Fold { return &fold{} },
	}
}

var errNoProject = errors.New("record names no project")

// typeCodes are the codes of the type column, by schemas.Type.
var typeCodes = codes()

func codes() map[schemas.Type]int8 {
	byType := map[schemas.Type]int8{}
	for code, name := range tables.EventTypes {
		if t, ok := schemas.ParseType(name); ok {
			byType[t] = int8(code)
		}
	}
	return byType
}

// fold keeps the columns of tables.Events as they are sent: nothing in them points
// into a record.
type fold struct {
	id                   native.Fixed
	project, data, extra native.Strings
	kind                 []int8
	ts                   native.Nanos
	received             native.Millis
	partition            []uint32
	offset               []int64
	scratch              []byte
}

func (f *fold) Add(r *eventlog.Record) error {
	e, err := schemas.Open(r.Value)
	if err != nil {
		return fmt.Errorf("record is no event: %w", err)
	}
	if len(r.Key) == 0 {
		return errNoProject
	}
	code, ok := typeCodes[e.Type]
	if !ok {
		return fmt.Errorf("the events table has no code for type %s", e.Type)
	}
	f.scratch = f.scratch[:0]
	if e.HasExtra() {
		f.scratch = e.AppendExtra(f.scratch)
	}
	f.id.Append(r.EventID())
	f.project.Append(r.Key)
	f.kind = append(f.kind, code)
	f.ts.Append(e.TS)
	f.received.Append(r.Time)
	f.data.Append(e.Data)
	f.extra.Append(f.scratch)
	f.partition = append(f.partition, uint32(r.Partition))
	f.offset = append(f.offset, r.Offset)
	return nil
}

func (f *fold) Blocks() []projections.Block {
	return []projections.Block{{
		Table:   tables.Events(),
		Columns: []any{&f.id, &f.project, f.kind, f.ts, f.received, &f.data, &f.extra, f.partition, f.offset},
		Rows:    f.id.Rows(),
	}}
}

func (f *fold) Reset() {
	f.id.Reset()
	f.project.Reset()
	f.data.Reset()
	f.extra.Reset()
	f.kind, f.ts, f.received = f.kind[:0], f.ts[:0], f.received[:0]
	f.partition, f.offset = f.partition[:0], f.offset[:0]
}
