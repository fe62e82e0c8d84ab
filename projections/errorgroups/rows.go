package errorgroups

import (
	"time"

	"weir/internal/native"
	"weir/projections"
	"weir/projections/errorgroups/releases"
	"weir/readmodel/tables"
)

const secondsPerHour = 60 * 60

type hourKey struct {
	group groupKey
	hour  int64 // since 1970
}

// hourRows are the rows of tables.ErrorGroupHours.
type hourRows struct {
	at     map[hourKey]int
	keys   []hourKey
	counts []uint64
}

func (h *hourRows) add(o *occurrence) {
	k := hourKey{o.group, o.ts.Unix() / secondsPerHour}
	i, ok := h.at[k]
	if !ok {
		i = len(h.keys)
		h.at[k] = i
		h.keys, h.counts = append(h.keys, k), append(h.counts, 0)
	}
	h.counts[i]++
}

func (h *hourRows) block() projections.Block {
	n := len(h.keys)
	project, fingerprint, hour := make([]string, n), make([]string, n), make([]time.Time, n)
	for i, k := range h.keys {
		project[i], fingerprint[i] = k.group.project, string(k.group.fingerprint[:])
		hour[i] = time.Unix(k.hour*secondsPerHour, 0).UTC()
	}
	return projections.Block{
		Table:   tables.ErrorGroupHours(),
		Columns: []any{project, fingerprint, hour, h.counts},
		Rows:    n,
	}
}

func (h *hourRows) reset() {
	clear(h.at)
	clear(h.keys)
	h.keys, h.counts = h.keys[:0], h.counts[:0]
}

type facetKey struct {
	group        groupKey
	facet, value string
}

// facetRows are the rows of tables.ErrorGroupFacets.
type facetRows struct {
	at          map[facetKey]int
	keys        []facetKey
	counts      []uint64
	first, last []time.Time
	latestAt    []time.Time
	releaseKeys []string
}

func (f *facetRows) add(o *occurrence, facet, value string) {
	if value == "" {
		return
	}
	k := facetKey{o.group, facet, cut(value, facetValue)}
	i, ok := f.at[k]
	if !ok {
		i = len(f.keys)
		f.at[k] = i
		f.keys, f.counts = append(f.keys, k), append(f.counts, 0)
		f.first, f.last = append(f.first, o.ts), append(f.last, o.ts)
		f.latestAt = append(f.latestAt, o.latestAt)
		f.releaseKeys = append(f.releaseKeys, releaseKeyOf(facet, k.value))
	}
	f.counts[i]++
	if o.ts.Before(f.first[i]) {
		f.first[i] = o.ts
	}
	if o.ts.After(f.last[i]) {
		f.last[i] = o.ts
	}
	if o.latestAt.After(f.latestAt[i]) {
		f.latestAt[i] = o.latestAt
	}
}

func releaseKeyOf(facet, value string) string {
	if facet != tables.FacetRelease {
		return ""
	}
	return releases.Key(value)
}

func (f *facetRows) block() projections.Block {
	n := len(f.keys)
	project, fingerprint := make([]string, n), make([]string, n)
	facet, value := make([]string, n), make([]string, n)
	for i, k := range f.keys {
		project[i], fingerprint[i] = k.group.project, string(k.group.fingerprint[:])
		facet[i], value[i] = k.facet, k.value
	}
	return projections.Block{
		Table:   tables.ErrorGroupFacets(),
		Columns: []any{project, fingerprint, facet, value, f.counts, f.first, f.last, f.latestAt, f.releaseKeys},
		Rows:    n,
	}
}

func (f *facetRows) reset() {
	clear(f.at)
	clear(f.keys)
	f.keys, f.counts, f.first, f.last = f.keys[:0], f.counts[:0], f.first[:0], f.last[:0]
	f.latestAt, f.releaseKeys = f.latestAt[:0], f.releaseKeys[:0]
}

// occurrenceRows are the columns of tables.ErrorOccurrences.
type occurrenceRows struct {
	fingerprint, eventID          native.Fixed
	ts                            native.Nanos
	received                      native.Millis
	project, name, message        native.Strings
	culprit                       native.Strings
	release, environment, service native.Strings
	stack, request, metadata      native.Strings
	partition                     []uint32
	offset                        []int64
}

func (t *occurrenceRows) add(o *occurrence) {
	t.project.AppendString(o.group.project)
	t.fingerprint.Append(o.group.fingerprint)
	t.ts.Append(o.ts)
	t.eventID.Append([16]byte([]byte(o.eventID)))
	t.received.Append(o.received)
	t.name.AppendString(o.name)
	t.message.AppendString(o.message)
	t.culprit.AppendString(o.culprit)
	t.release.AppendString(o.release)
	t.environment.AppendString(o.environment)
	t.service.AppendString(o.service)
	t.stack.AppendString(o.stack)
	t.request.AppendString(o.request)
	t.metadata.AppendString(o.metadata)
	t.partition = append(t.partition, o.partition)
	t.offset = append(t.offset, o.offset)
}

func (t *occurrenceRows) block() projections.Block {
	return projections.Block{
		Table: tables.ErrorOccurrences(),
		Columns: []any{
			&t.project, &t.fingerprint, t.ts, &t.eventID, t.received, &t.name, &t.message, &t.culprit,
			&t.release, &t.environment, &t.service, &t.stack, &t.request, &t.metadata, t.partition, t.offset,
		},
		Rows: len(t.offset),
	}
}

func (t *occurrenceRows) reset() {
	for _, text := range []*native.Strings{
		&t.project, &t.name, &t.message, &t.culprit, &t.release, &t.environment, &t.service, &t.stack, &t.request, &t.metadata,
	} {
		text.Reset()
	}
	t.fingerprint.Reset()
	t.eventID.Reset()
	t.ts, t.received, t.partition, t.offset = t.ts[:0], t.received[:0], t.partition[:0], t.offset[:0]
}
