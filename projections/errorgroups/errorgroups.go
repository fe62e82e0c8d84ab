// Package errorgroups folds error events into groups of the same error: their
// counts, first and last seen, trend by hour, releases, environments and
// services, and the single occurrences. Which events are the same error is the
// business of package grouping.
package errorgroups

import (
	"errors"
	"fmt"
	"time"

	"weir/eventlog"
	"weir/projections"
	"weir/projections/errorgroups/grouping"
	"weir/readmodel/tables"
	"weir/schemas"
)

// Version of the fold. Raise it when the same log would give other rows, as when
// grouping.Algorithm changes.
const Version = 1

// Name of the projection.
const Name = "errorgroups"

// Bounds of what groups keep; occurrences keep everything.
const (
	groupText  = 1 << 10 // name, message and culprit
	facetValue = 256
)

// Projection folds the topic of error events.
func Projection() projections.Projection {
	return projections.Projection{
		Name:    Name,
		Version: Version,
		Topics:  []string{eventlog.EventsTopic(schemas.Error)},
		Tables:  []tables.Table{tables.ErrorGroups(), tables.ErrorGroupHours(), tables.ErrorGroupFacets(), tables.ErrorOccurrences()},
		New:     func() projections.Fold { return newFold() },
	}
}

var errNoProject = errors.New("record names no project")

type fold struct {
	arena       projections.Arena
	fields      fields
	visit       func(name, value []byte) bool
	groups      groupRows
	hours       hourRows
	facets      facetRows
	occurrences occurrenceRows
}

func newFold() *fold {
	f := &fold{
		groups: groupRows{at: map[groupKey]int{}},
		hours:  hourRows{at: map[hourKey]int{}},
		facets: facetRows{at: map[facetKey]int{}},
	}
	f.visit = f.fields.member
	return f
}

// occurrence is one error event as it goes into the rows.
type occurrence struct {
	*fields
	group         groupKey
	eventID       string
	ts, received  time.Time
	name, culprit string
	message       string
	data          []byte
	partition     uint32
	offset        int64
}

func (f *fold) Add(r *eventlog.Record) error {
	e, err := schemas.Open(r.Value)
	if err != nil {
		return fmt.Errorf("record is no event: %w", err)
	}
	if e.Type != schemas.Error {
		return fmt.Errorf("event is of type %s, not error", e.Type)
	}
	if len(r.Key) == 0 {
		return errNoProject
	}
	f.fields.reset(&f.arena)
	if err := schemas.Members(e.Data, f.visit); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	f.fields.finish()
	project := projections.Text(r.Key)
	payload, err := grouping.ParsePayload(e.Data)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	group := grouping.Group(project, payload)
	id := r.EventID()
	o := occurrence{
		fields: &f.fields, group: groupKey{project, group.Fingerprint}, eventID: f.arena.Add(id[:]),
		ts: e.TS, received: r.Time, name: group.Name, culprit: group.Culprit,
		message: f.fields.message, data: e.Data, partition: uint32(r.Partition), offset: r.Offset,
	}
	if o.message == "" {
		o.message = group.Message
	}
	f.add(&o, f.arena.Add(group.Fingerprint[:]))
	return nil
}

func (f *fold) add(o *occurrence, fingerprint string) {
	f.groups.add(o)
	f.hours.add(o)
	f.facets.add(o, tables.FacetRelease, o.release)
	f.facets.add(o, tables.FacetEnvironment, o.environment)
	f.facets.add(o, tables.FacetService, o.service)
	f.occurrences.add(o, fingerprint)
}

func (f *fold) Blocks() []projections.Block {
	return []projections.Block{f.groups.block(), f.hours.block(), f.facets.block(), f.occurrences.block()}
}

func (f *fold) Reset() {
	f.arena.Reset()
	f.fields = fields{}
	f.groups.reset()
	f.hours.reset()
	f.facets.reset()
	f.occurrences = occurrenceRows{}
}
