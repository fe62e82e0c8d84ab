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

// layout is raised when the same log would give other rows, or tables of
// another shape, under the same algorithm.
const layout = 3

// Version of the fold under a grouping algorithm. It is part of the projection's
// version, because another algorithm gives other rows: changing it is a rebuild.
func Version(algorithm int) int { return layout*1000 + algorithm }

// Name of the projection.
const Name = "errorgroups"

// Bounds of what groups keep; occurrences keep everything.
const (
	groupText  = 1 << 10 // name, message and culprit
	facetValue = 256
)

// Projection folds the topic of error events under the algorithm that is served by default.
func Projection() projections.Projection {
	p, err := ProjectionUnder(grouping.Algorithm)
	if err != nil { // the current algorithm is always known
		panic(err)
	}
	return p
}

// ProjectionUnder folds under one version of the grouping algorithm, to be
// served or to be built beside the one that serves. The error names the
// versions there are.
func ProjectionUnder(algorithm int) (projections.Projection, error) {
	chosen, err := grouping.Lookup(algorithm)
	if err != nil {
		return projections.Projection{}, err
	}
	var others []grouping.Version
	for _, n := range grouping.Versions() {
		if other, err := grouping.Lookup(n); err == nil && n != algorithm {
			others = append(others, other)
		}
	}
	return under(chosen, others), nil
}

// under folds by one version; the names that the others give become aliases,
// so that links and decisions survive a change of the algorithm, and its
// way back.
func under(chosen grouping.Version, others []grouping.Version) projections.Projection {
	return projections.Projection{
		Name:    Name,
		Version: Version(chosen.Number),
		Topics:  []string{eventlog.EventsTopic(schemas.Error)},
		Tables: []tables.Table{
			tables.ErrorGroups(), tables.ErrorGroupHours(), tables.ErrorGroupFacets(), tables.ErrorOccurrences(),
			tables.ErrorReleases(), tables.ErrorAliases(),
		},
		Measures: []projections.Measure{
			{Table: tables.ErrorOccurrences(), Rows: "count()", Partition: "`partition`"},
			{Table: tables.ErrorGroups(), Rows: "sum(count)"},
			{Table: tables.ErrorGroupHours(), Rows: "sum(count)"},
		},
		New: func() projections.Fold { return newFold(chosen, others) },
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
	releases    releaseRows
	aliases     aliasRows

	grouping grouping.Version
	others   []grouping.Version
	memo     *memo
}

func newFold(chosen grouping.Version, others []grouping.Version) *fold {
	f := &fold{
		grouping: chosen, others: others,
		releases: releaseRows{at: map[releaseKey]int{}},
		aliases:  aliasRows{at: map[aliasKey]int{}},
		groups:   groupRows{at: map[groupKey]int{}, explain: chosen.Explain},
		hours:    hourRows{at: map[hourKey]int{}},
		facets:   facetRows{at: map[facetKey]int{}},
		memo:     newMemo(),
	}
	f.visit = func(name, value []byte) bool {
		f.memo.member(name, value)
		return f.fields.member(name, value)
	}
	return f
}

// occurrence is one error event as it goes into the rows.
type occurrence struct {
	*fields
	group         groupKey
	eventID       string
	ts, received  time.Time
	latestAt      time.Time
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
	f.memo.begin(r.Key)
	if err := schemas.Members(e.Data, f.visit); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	f.fields.finish()
	project := projections.Text(r.Key)
	group := f.memo.find()
	if group == nil {
		if group, err = f.group(project, e.Data); err != nil {
			return fmt.Errorf("data: %w", err)
		}
		f.memo.keep(group)
	}
	id := r.EventID()
	o := occurrence{
		fields: &f.fields, group: groupKey{project, group.fingerprint}, eventID: f.arena.Add(id[:]),
		ts: e.TS, received: r.Time, latestAt: latestAt(e.TS, r.Time), name: group.name, culprit: group.culprit,
		message: f.fields.message, data: e.Data, partition: uint32(r.Partition), offset: r.Offset,
	}
	if o.message == "" {
		o.message = group.message
	}
	f.add(&o)
	for _, other := range group.others {
		f.aliases.add(o.group, other)
	}
	return nil
}

// group asks the grouping.
func (f *fold) group(project string, data []byte) (*grouped, error) {
	payload, err := grouping.ParsePayload(data)
	if err != nil {
		return nil, err
	}
	r, others := grouping.GroupAndNames(project, payload, f.grouping, f.others, nil)
	return &grouped{fingerprint: r.Fingerprint, name: r.Name, culprit: r.Culprit, message: r.Message, others: others}, nil
}

// latestAt is the latest moment at which an event can have happened: a time of
// whole seconds or milliseconds stands for all of that second or millisecond,
// and nothing is received before it happens. received is of milliseconds.
func latestAt(ts, received time.Time) time.Time {
	unit := time.Nanosecond
	switch ns := ts.Nanosecond(); {
	case ns == 0:
		unit = time.Second
	case ns%int(time.Millisecond) == 0:
		unit = time.Millisecond
	}
	end, arrived := ts.Add(unit-1), received.Truncate(time.Millisecond).Add(time.Millisecond-1)
	if arrived.Before(end) {
		return arrived.UTC()
	}
	return end
}

func (f *fold) add(o *occurrence) {
	f.groups.add(o)
	f.hours.add(o)
	f.facets.add(o, tables.FacetRelease, o.release)
	f.facets.add(o, tables.FacetEnvironment, o.environment)
	f.facets.add(o, tables.FacetService, o.service)
	f.releases.add(o)
	f.occurrences.add(o)
}

func (f *fold) Blocks() []projections.Block {
	return []projections.Block{
		f.groups.block(), f.hours.block(), f.facets.block(), f.occurrences.block(), f.releases.block(), f.aliases.block(),
	}
}

func (f *fold) Reset() {
	f.arena.Reset()
	f.fields = fields{}
	f.groups.reset()
	f.hours.reset()
	f.facets.reset()
	f.occurrences.reset()
	f.releases.reset()
	f.aliases.reset()
}
