package readmodel

import (
	"context"
	"maps"
	"strings"
	"sync"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/readmodel/tables"
)

// groupScope is what a query on the groups of one project must know of its
// triage before it is written: most projects have none of it, and their
// statements are spared the joins.
type groupScope struct {
	Project   string
	Decided   bool              // somebody set the status of a group
	ByRelease bool              // somebody resolved a group in a release
	Roots     map[string]string // merged group → the group it is shown in, hex
}

// scopes remembers what was decided in projects when it was last read, as a
// guess: a page is read by it and, beside that, whether it still holds. The zero
// value guesses that nothing was decided. Safe for concurrent use.
type scopes struct {
	mu    sync.Mutex
	known map[string]groupScope
}

func (s *scopes) guess(project string) groupScope {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.known[project]; ok {
		return known
	}
	return groupScope{Project: project}
}

func (s *scopes) remember(scope groupScope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= mostListed {
		s.known = map[string]groupScope{}
	}
	s.known[scope.Project] = scope
}

func (s groupScope) equal(o groupScope) bool {
	return s.Project == o.Project && s.Decided == o.Decided && s.ByRelease == o.ByRelease && maps.Equal(s.Roots, o.Roots)
}

// TriageQuery reads which kinds of decisions a project has, and whether some name a release.
type TriageQuery struct{ Project string }

func (q TriageQuery) statement() Statement {
	var b builder
	b.equal("project_id", q.Project)
	return b.statement("SELECT toString(kind), release != '' FROM error_triage WHERE", b.conditions(), "GROUP BY 1, 2")
}

// MergesQuery reads a project's merges, in the order of the log.
type MergesQuery struct{ Project string }

func (q MergesQuery) statement() Statement {
	var b builder
	b.equal("project_id", q.Project)
	return b.statement("SELECT toString(kind), lower(hex(fingerprint)), lower(hex(merged_into)) FROM error_triage WHERE", b.conditions(),
		"AND kind IN ('"+tables.TriageMerged+"', '"+tables.TriageUnmerged+"') ORDER BY offset")
}

// AliasesQuery reads what fingerprints are called now: a group's own name first, where it still is
// one, then the groups that have its events, the most first.
type AliasesQuery struct {
	Project      string
	Fingerprints []string
}

func (q AliasesQuery) statement() Statement {
	var b builder
	b.equal("project_id", q.Project)
	b.where("alias IN (" + b.prints(q.Fingerprints) + ")")
	aliases := "SELECT lower(hex(alias)) AS id, project_id, lower(hex(fingerprint)) AS name, toUInt8(0) AS own, sum(count) AS total FROM error_aliases WHERE " +
		b.conditions() + " GROUP BY project_id, alias, fingerprint"
	b.conds = nil
	b.equal("project_id", q.Project)
	b.where("fingerprint IN (" + b.prints(q.Fingerprints) + ")")
	same := "SELECT DISTINCT lower(hex(fingerprint)) AS id, project_id, id AS name, toUInt8(1) AS own, toUInt64(0) AS total FROM error_groups WHERE " + b.conditions()
	return b.statement("SELECT id, project_id, name, total FROM (" + aliases + " UNION ALL " + same + ") ORDER BY own DESC, total DESC, name")
}

// prints is fingerprints as a list of one placeholder, however many there are.
func (b *builder) prints(all []string) string {
	if len(all) == 1 {
		return b.eventID(all[0])
	}
	return "SELECT toFixedString(unhex(arrayJoin(extractAll(" + b.text(strings.Join(all, "")) + ", '.{32}'))), 16)"
}

// asker runs one statement.
type asker func(ctx context.Context, name string, s Statement, scan func(driver.Rows) error) error

func (rd *Reader) scope(ctx context.Context, project string) (groupScope, error) {
	return asker(rd.quick).scope(ctx, project)
}

// scope reads a project's triage.
func (ask asker) scope(ctx context.Context, project string) (groupScope, error) {
	s := groupScope{Project: project}
	merged := false
	err := ask(ctx, "triage", TriageQuery{project}.statement(), func(rows driver.Rows) error {
		var kind string
		var release bool
		err := rows.Scan(&kind, &release)
		switch kind {
		case tables.TriageMerged:
			merged = true
		case tables.TriageUnmerged:
		default:
			s.Decided, s.ByRelease = true, s.ByRelease || release && kind == tables.TriageResolved
		}
		return err
	})
	if err != nil || !merged {
		return s, err
	}
	var merges []merge
	err = ask(ctx, "merges", MergesQuery{project}.statement(), func(rows driver.Rows) error {
		var kind string
		var m merge
		err := rows.Scan(&kind, &m.from, &m.into)
		m.undone = kind == tables.TriageUnmerged
		merges = append(merges, m)
		return err
	})
	if err != nil {
		return s, err
	}
	if merges, err = ask.renamed(ctx, project, merges); err != nil {
		return s, err
	}
	s.Roots = roots(merges)
	return s, nil
}

// merge is one decision to show a group in another, or to stop that.
type merge struct {
	from, into string
	undone     bool
}

// renamed puts today's names into merges. A group that was split by another
// algorithm is merged with all its parts, into the largest part of the target.
func (ask asker) renamed(ctx context.Context, project string, merges []merge) ([]merge, error) {
	var asked []string
	for _, m := range merges {
		asked = append(asked, m.from, m.into)
	}
	now := map[string][]string{}
	err := ask(ctx, "aliases", AliasesQuery{project, asked}.statement(), func(rows driver.Rows) error {
		var id, owner, name string
		var total uint64
		err := rows.Scan(&id, &owner, &name, &total)
		now[id] = append(now[id], name)
		return err
	})
	if err != nil || len(now) == 0 {
		return merges, err
	}
	var out []merge
	for _, m := range merges {
		into := m.into
		if names := now[into]; names != nil {
			into = names[0]
		}
		froms := now[m.from]
		if froms == nil {
			froms = []string{m.from}
		}
		for _, from := range froms {
			out = append(out, merge{from, into, m.undone})
		}
	}
	return out, nil
}

// roots follows merges in the order of the log: each group has at most one it
// is part of, a later merge replaces an earlier one, and one that would close a
// circle (two people merged two groups into each other at once) has no effect.
// The same decisions in the same order give the same roots, on every node and
// after every rebuild.
func roots(merges []merge) map[string]string {
	parent := map[string]string{}
	top := func(id string) string {
		for parent[id] != "" {
			id = parent[id]
		}
		return id
	}
	for _, m := range merges {
		delete(parent, m.from)
		if !m.undone && top(m.into) != m.from {
			parent[m.from] = m.into
		}
	}
	out := make(map[string]string, len(parent))
	for id := range parent {
		out[id] = top(id)
	}
	return out
}

// root is the group that a fingerprint is shown in.
func (s groupScope) root(fingerprint string) string {
	if r := s.Roots[fingerprint]; r != "" {
		return r
	}
	return fingerprint
}

// members lists groups together with all that is merged into them.
func (s groupScope) members(groups ...string) []string {
	out := append([]string(nil), groups...)
	shown := map[string]bool{}
	for _, g := range groups {
		shown[g] = true
	}
	for _, id := range sortedKeys(s.Roots) {
		if shown[s.Roots[id]] {
			out = append(out, id)
		}
	}
	return out
}

// rooted is the expression for the group a row's fingerprint is shown in. With
// no merges, which is nearly always, it is the column itself.
func (s groupScope) rooted(b *builder) string {
	if len(s.Roots) == 0 {
		return "fingerprint"
	}
	var from, to strings.Builder
	for _, id := range sortedKeys(s.Roots) {
		from.WriteString(id)
		to.WriteString(s.Roots[id])
	}
	const cut = ", '.{32}')"
	return "toFixedString(unhex(transform(lower(hex(fingerprint)), extractAll(" + b.text(from.String()) + cut +
		", extractAll(" + b.text(to.String()) + cut + ", lower(hex(fingerprint)))), 16)"
}
