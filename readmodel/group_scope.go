package readmodel

import (
	"context"
	"strings"

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

// TriageQuery reads that.
type TriageQuery struct{ Project string }

func (q TriageQuery) statement() Statement {
	var b builder
	b.equal("project_id", q.Project)
	merge := "kind IN ('" + tables.TriageMerged + "', '" + tables.TriageUnmerged + "')"
	return b.statement(
		"SELECT countIf(NOT "+merge+") > 0 AS decided, countIf(kind = '"+tables.TriageResolved+"' AND release != '') > 0 AS by_release,",
		"arraySort(groupArrayIf((offset, toString(kind), lower(hex(fingerprint)), lower(hex(merged_into))), "+merge+")) AS merges",
		"FROM error_triage WHERE", b.conditions())
}

// AliasesQuery reads what older fingerprints are called now, the group with the most of their events first.
type AliasesQuery struct {
	Project      string
	Fingerprints []string
}

func (q AliasesQuery) statement() Statement {
	var b builder
	b.equal("project_id", q.Project)
	b.where("alias IN (" + b.prints(q.Fingerprints) + ")")
	return b.statement("SELECT lower(hex(alias)) AS id, project_id, lower(hex(fingerprint)) AS name, sum(count) AS total FROM error_aliases WHERE",
		b.conditions(), "GROUP BY project_id, alias, fingerprint ORDER BY total DESC, fingerprint")
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
	return asker(rd.query).scope(ctx, project)
}

// scope reads a project's triage.
func (ask asker) scope(ctx context.Context, project string) (groupScope, error) {
	s := groupScope{Project: project}
	var merges []merge
	err := ask(ctx, "triage", TriageQuery{project}.statement(), func(rows driver.Rows) error {
		var decided, byRelease uint8
		var raw [][]any
		if err := rows.Scan(&decided, &byRelease, &raw); err != nil {
			return err
		}
		s.Decided, s.ByRelease = decided != 0, byRelease != 0
		for _, row := range raw {
			kind, _ := row[1].(string)
			from, _ := row[2].(string)
			into, _ := row[3].(string)
			merges = append(merges, merge{from, into, kind == tables.TriageUnmerged})
		}
		return nil
	})
	if err != nil || len(merges) == 0 {
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
