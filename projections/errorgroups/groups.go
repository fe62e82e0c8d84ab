package errorgroups

import (
	"encoding/json"
	"time"

	"weir/projections"
	"weir/projections/errorgroups/grouping"
	"weir/readmodel/tables"
)

type groupKey struct {
	project     string
	fingerprint [16]byte
}

// groupRows are the rows of tables.ErrorGroups: one per group in the block.
type groupRows struct {
	at      map[groupKey]int
	groups  []group
	explain func(project string, p grouping.Payload) grouping.Explanation
}

type group struct {
	key           groupKey
	count         uint64
	first, last   time.Time
	latestAt      time.Time
	latest        occurrence
	firstRelease  release
	latestRelease release
}

// release is the tuple (ts, release) of the group's first and last release. As
// ClickHouse's min and max do, it compares the release when the times are equal.
type release struct {
	ts   time.Time
	name string
}

func (r release) less(o release) bool {
	if !r.ts.Equal(o.ts) {
		return r.ts.Before(o.ts)
	}
	return r.name < o.name
}

// Stand-ins while no occurrence has named a release: later than any event for
// the minimum, not later than any for the maximum.
var (
	noFirstRelease = release{ts: time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)}
	noLastRelease  = release{ts: time.Unix(0, 0).UTC()}
)

func (g *groupRows) add(o *occurrence) {
	i, ok := g.at[o.group]
	if !ok {
		i = len(g.groups)
		g.at[o.group] = i
		g.groups = append(g.groups, group{
			key: o.group, first: o.ts, last: o.ts, latestAt: o.latestAt, latest: *o,
			firstRelease: noFirstRelease, latestRelease: noLastRelease,
		})
	}
	g.groups[i].add(o)
}

func (g *group) add(o *occurrence) {
	g.count++
	if o.ts.Before(g.first) {
		g.first = o.ts
	}
	if o.ts.After(g.last) {
		g.last = o.ts
	}
	if o.latestAt.After(g.latestAt) {
		g.latestAt = o.latestAt
	}
	if o.ts.After(g.latest.ts) || o.ts.Equal(g.latest.ts) && o.eventID > g.latest.eventID {
		g.latest = *o
	}
	if o.release == "" {
		return
	}
	r := release{o.ts, cut(o.release, facetValue)}
	if r.less(g.firstRelease) {
		g.firstRelease = r
	}
	if g.latestRelease.less(r) {
		g.latestRelease = r
	}
}

func (g *groupRows) block() projections.Block {
	n := len(g.groups)
	project, fingerprint, count := make([]string, n), make([]string, n), make([]uint64, n)
	first, last, latestAt := make([]time.Time, n), make([]time.Time, n), make([]time.Time, n)
	latest, firstRelease, lastRelease := make([][]any, n), make([][]any, n), make([][]any, n)
	for i := range g.groups {
		one := &g.groups[i]
		project[i], fingerprint[i], count[i] = one.key.project, string(one.key.fingerprint[:]), one.count
		first[i], last[i], latestAt[i] = one.first, one.last, one.latestAt
		latest[i] = one.latest.tuple(g.explain)
		firstRelease[i] = []any{one.firstRelease.ts, one.firstRelease.name}
		lastRelease[i] = []any{one.latestRelease.ts, one.latestRelease.name}
	}
	return projections.Block{
		Table:   tables.ErrorGroups(),
		Columns: []any{project, fingerprint, count, first, last, latestAt, latest, firstRelease, lastRelease},
		Rows:    n,
	}
}

// tuple is the column latest: what stands for the group.
func (o *occurrence) tuple(explain func(string, grouping.Payload) grouping.Explanation) []any {
	return []any{o.ts, o.eventID, cut(o.name, groupText), cut(o.message, groupText), cut(o.culprit, groupText), o.explain(explain)}
}

// explanationBytes bounds an explanation; of a longer one the summary is kept.
const explanationBytes = 16 << 10

// explain says why the occurrence is in its group. It is worked out for the
// latest occurrence of each group in a block only; which one that is in the end
// does not depend on the blocks.
func (o *occurrence) explain(explain func(string, grouping.Payload) grouping.Explanation) string {
	payload, err := grouping.ParsePayload(o.data)
	if err != nil {
		return ""
	}
	why := explain(o.group.project, payload)
	text, err := json.Marshal(why)
	if err == nil && len(text) > explanationBytes {
		text, err = json.Marshal(grouping.Explanation{
			Algorithm: why.Algorithm, Fingerprint: why.Fingerprint, Decided: why.Decided, Summary: cut(why.Summary, groupText),
		})
	}
	if err != nil {
		return ""
	}
	return string(text)
}

func (g *groupRows) reset() {
	clear(g.at)
	clear(g.groups)
	g.groups = g.groups[:0]
}
