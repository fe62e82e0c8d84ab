package errorgroups

import (
	"time"

	"weir/projections"
	"weir/readmodel/tables"
)

type releaseKey struct{ project, release string }

// releaseRows are the rows of tables.ErrorReleases.
type releaseRows struct {
	at    map[releaseKey]int
	keys  []releaseKey
	first []time.Time
}

func (r *releaseRows) add(o *occurrence) {
	if o.release == "" {
		return
	}
	k := releaseKey{o.group.project, cut(o.release, facetValue)}
	i, ok := r.at[k]
	if !ok {
		r.at[k] = len(r.keys)
		r.keys, r.first = append(r.keys, k), append(r.first, o.ts)
		return
	}
	if o.ts.Before(r.first[i]) {
		r.first[i] = o.ts
	}
}

func (r *releaseRows) block() projections.Block {
	n := len(r.keys)
	project, release := make([]string, n), make([]string, n)
	for i, k := range r.keys {
		project[i], release[i] = k.project, k.release
	}
	return projections.Block{Table: tables.ErrorReleases(), Columns: []any{project, release, r.first}, Rows: n}
}

func (r *releaseRows) reset() {
	clear(r.at)
	clear(r.keys)
	r.keys, r.first = r.keys[:0], r.first[:0]
}

type aliasKey struct {
	group groupKey
	alias [16]byte
}

// aliasRows are the rows of tables.ErrorAliases.
type aliasRows struct {
	at     map[aliasKey]int
	keys   []aliasKey
	counts []uint64
}

func (a *aliasRows) add(group groupKey, alias [16]byte) {
	if alias == group.fingerprint {
		return
	}
	k := aliasKey{group, alias}
	i, ok := a.at[k]
	if !ok {
		i = len(a.keys)
		a.at[k] = i
		a.keys, a.counts = append(a.keys, k), append(a.counts, 0)
	}
	a.counts[i]++
}

func (a *aliasRows) block() projections.Block {
	n := len(a.keys)
	project, alias, fingerprint := make([]string, n), make([]string, n), make([]string, n)
	for i, k := range a.keys {
		project[i], alias[i], fingerprint[i] = k.group.project, string(k.alias[:]), string(k.group.fingerprint[:])
	}
	return projections.Block{Table: tables.ErrorAliases(), Columns: []any{project, alias, fingerprint, a.counts}, Rows: n}
}

func (a *aliasRows) reset() {
	clear(a.at)
	clear(a.keys)
	a.keys, a.counts = a.keys[:0], a.counts[:0]
}
