package readmodel

import (
	"maps"
	"slices"

	"weir/readmodel/tables"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// The status of a group is a function of two sets, whatever order they came in:
// what was decided about it (error_triage, the latest by its place in the log)
// and its occurrences (error_groups and its facets).
//
//	decided    then
//	nothing    unresolved
//	reopened   unresolved
//	resolved   regressed when the group was seen after the decision, else resolved
//	  in R     only what was seen in R or a later release counts
//	ignored    ignored until the time or the count, then unresolved
//
// flatGroups is the one definition of it: lists of small projects and single
// groups are read from it, and the table error_group_list, from which lists of
// large projects are read, is filled from it. Its columns:
//
//	fingerprint, total, first_at, last_at (nanoseconds), state, ignored_until (nanoseconds, 0: no end)
//
// and, with texts, newest (the latest occurrence), earliest_release, latest_release.
// state leaves the time of ignored_until to the reader, who has a clock.
func (b *builder) flatGroups(s groupScope, only []string, texts bool) string {
	root := s.rooted(b)
	project := b.text(s.Project)
	columns := root + " AS id, sum(count) AS total, min(first_seen) AS first, max(last_seen) AS last, max(latest_at) AS seen"
	pass := "id AS fingerprint, toInt64(total) AS total, toUnixTimestamp64Nano(first) AS first_at, toUnixTimestamp64Nano(last) AS last_at"
	if texts {
		columns += ", max(latest) AS newest, min(first_release) AS earliest_release, max(last_release) AS latest_release"
		pass += ", newest, earliest_release, latest_release"
	}
	where := "project_id = " + project
	if only != nil {
		where += " AND fingerprint IN (" + b.prints(only) + ")"
	}
	groups := "SELECT " + columns + " FROM error_groups WHERE " + where + " GROUP BY id"
	if !s.Decided {
		return "SELECT " + pass + ", '" + unresolved + "' AS state, toInt64(0) AS ignored_until FROM (" + groups + ")"
	}
	newer := "g.seen > d.decided_at"
	joins := ""
	if s.ByRelease {
		newer = "if(d.release = '', g.seen > d.decided_at, r.back)"
		joins = " LEFT JOIN (" + b.backInRelease(s, root, project) + ") AS r ON g.id = r.fingerprint"
	}
	state := "multiIf(d.kind = '" + tables.TriageResolved + "', if(" + newer + ", 'regressed', 'resolved'), " +
		"d.kind = '" + tables.TriageIgnored + "' AND (d.until_count = 0 OR total < d.until_count), 'ignored', '" + unresolved + "')"
	return "SELECT " + pass + ", " + state + " AS state, if(state = 'ignored', toUnixTimestamp64Nano(d.until), toInt64(0)) AS ignored_until" +
		" FROM (" + groups + ") AS g LEFT JOIN (" + decisions(project, "") + ") AS d ON g.id = d.fingerprint" + joins
}

// decisions is the latest decision on each group, under the name it was made
// under and those that the group's events have now: another algorithm can leave
// some of them where they were.
func decisions(project, more string) string {
	triage := "(SELECT * FROM error_triage WHERE project_id = " + project +
		" AND kind IN ('" + tables.TriageResolved + "', '" + tables.TriageIgnored + "', '" + tables.TriageReopened + "')) AS t"
	decision := "t.offset AS place, toString(t.kind) AS what, t.decided_at AS at, t.release AS version, t.release_key AS order, t.until AS ends, t.until_count AS most"
	return "SELECT name AS fingerprint, latest.2 AS kind, latest.3 AS decided_at, latest.4 AS release, latest.5 AS release_key, latest.6 AS until, latest.7 AS until_count" +
		" FROM (SELECT name, max((place, what, at, version, order, ends, most)) AS latest FROM (" +
		"SELECT t.fingerprint AS name, " + decision + " FROM " + triage + " UNION ALL " +
		"SELECT a.fingerprint AS name, " + decision + " FROM " + triage + " INNER JOIN (SELECT alias, fingerprint FROM error_aliases WHERE project_id = " + project +
		" AND alias IN (SELECT fingerprint FROM error_triage WHERE project_id = " + project + ") GROUP BY alias, fingerprint) AS a ON t.fingerprint = a.alias" +
		") GROUP BY name)" + more
}

// backInRelease finds the groups that were resolved in a release and seen in it
// or a later one after that was decided. Releases are compared as semantic
// versions when both are; else a release is later that was first seen, in any
// error of the project, no earlier; one never seen is later than all.
func (b *builder) backInRelease(s groupScope, root, project string) string {
	first := "(SELECT release, min(first_seen) AS first, toUInt8(1) AS known FROM error_releases WHERE project_id = " + project + " GROUP BY release)"
	resolved := decisions(project, " WHERE kind = '"+tables.TriageResolved+"' AND release != ''")
	where := "project_id = " + project + " AND facet = '" + tables.FacetRelease + "'"
	if len(s.Roots) == 0 { // else the facets of merged groups would be missing
		where += " AND fingerprint IN (SELECT fingerprint FROM (" + resolved + "))"
	}
	return "SELECT DISTINCT f.id AS fingerprint, toUInt8(1) AS back FROM (SELECT " + root + " AS id, value, max(release_key) AS key, max(latest_at) AS seen" +
		" FROM error_group_facets WHERE " + where + " GROUP BY id, value) AS f" +
		" INNER JOIN (" + resolved + ") AS d ON f.id = d.fingerprint" +
		" LEFT JOIN " + first + " AS rf ON rf.release = f.value LEFT JOIN " + first + " AS rd ON rd.release = d.release" +
		" WHERE f.seen > d.decided_at AND (f.value = d.release OR if(f.key != '' AND d.release_key != '', f.key >= d.release_key, rd.known = 1 AND rf.first >= rd.first))"
}
