// Package history folds every event of every type into the events table: one
// row per record, as it was sent.
package history

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

// fold keeps the columns of tables.Events; strings point into the records and,
// for event ids and extra members, into the arena.
type fold struct {
	arena                    projections.Arena
	id, project, data, extra []string
	kind                     []int8
	ts, received             []time.Time
	partition                []uint32
	offset                   []int64
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
	extra := ""
	if e.HasExtra() {
		extra = f.arena.Grow(e.AppendExtra)
	}
	id := r.EventID()
	f.id = append(f.id, f.arena.Add(id[:]))
	f.project = append(f.project, projections.Text(r.Key))
	f.kind = append(f.kind, code)
	f.ts = append(f.ts, e.TS)
	f.received = append(f.received, r.Time)
	f.data = append(f.data, projections.Text(e.Data))
	f.extra = append(f.extra, extra)
	f.partition = append(f.partition, uint32(r.Partition))
	f.offset = append(f.offset, r.Offset)
	return nil
}

func (f *fold) Blocks() []projections.Block {
	return []projections.Block{{
		Table:   tables.Events(),
		Columns: []any{f.id, f.project, f.kind, f.ts, f.received, f.data, f.extra, f.partition, f.offset},
		Rows:    len(f.id),
	}}
}

func (f *fold) Reset() {
	f.arena.Reset()
	f.id, f.project, f.data, f.extra = clean(f.id), clean(f.project), clean(f.data), clean(f.extra)
	f.kind, f.ts, f.received = f.kind[:0], f.ts[:0], f.received[:0]
	f.partition, f.offset = f.partition[:0], f.offset[:0]
}

// clean empties a column and lets go of what its strings point to.
func clean(column []string) []string {
	clear(column)
	return column[:0]
}
