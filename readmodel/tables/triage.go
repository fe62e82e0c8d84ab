package tables

// ErrorReleases says when each release of a project was first seen in any
// error, by ts: the order of releases that are no semantic versions.
//
// Sort key: read whole for one project, which has few.
func ErrorReleases() Table {
	return Table{
		Name:   "error_releases",
		Engine: Aggregating,
		Columns: []Column{
			{"project_id", "String", ""},
			{"release", "String", ""},
			{"first_seen", "SimpleAggregateFunction(min, " + eventTime + ")", ""},
		},
		OrderBy: []string{"project_id", "release"},
	}
}

// ErrorAliases says what groups were called under older versions of the
// grouping algorithm: alias is the fingerprint an older version gives to
// occurrences that the tables' version puts into the group fingerprint, count
// how many of them. Equal ones have no row. An old group that was split has
// several rows: a link to it leads to the one with most events, what was decided
// about it holds for all.
//
// Sort key: read by old name. Index by_fingerprint leads the other way, for what
// was decided about one group under older names.
func ErrorAliases() Table {
	return Table{
		Name:   "error_aliases",
		Engine: Aggregating,
		Columns: []Column{
			{"project_id", "String", ""},
			{"alias", "FixedString(16)", ""},
			{"fingerprint", "FixedString(16)", ""},
			{"count", "SimpleAggregateFunction(sum, UInt64)", ""},
		},
		Indexes:  []Index{{"by_fingerprint", "fingerprint", "bloom_filter(0.01)", 1}},
		OrderBy:  []string{"project_id", "alias", "fingerprint"},
		Settings: []string{"index_granularity = 256", together},
	}
}

// Kinds of ErrorTriage.
const (
	TriageResolved = "resolved"
	TriageIgnored  = "ignored"
	TriageReopened = "reopened"
	TriageMerged   = "merged"
	TriageUnmerged = "unmerged"
)

// ErrorTriage is one row per decision about an error group, as weir.control has
// it: the status of a group is the decision of the highest offset among
// resolved, ignored and reopened, read together with the group's occurrences.
//
//   - fingerprint: the group's name when it was decided; see ErrorAliases.
//   - decided_at, decided_by, reason: when, who and why.
//   - release, release_key: resolved in that release; "" is by now.
//   - until: ignored until then, 1970 is no end; until_count: until the group has
//     that many occurrences, 0 is no end.
//   - merged_into: the group it is shown in.
//   - offset: the decisions' order, which is that of the one partition of weir.control.
//
// Sort key: read whole for a project's list, or for the fingerprints of one group.
func ErrorTriage() Table {
	return Table{
		Name:   "error_triage",
		Engine: Plain,
		Columns: []Column{
			{"project_id", "String", ""},
			{"fingerprint", "FixedString(16)", ""},
			{"offset", "Int64", ""},
			{"kind", "LowCardinality(String)", ""},
			{"decided_at", eventTime, ""},
			{"decided_by", "String", ""},
			{"reason", "String", ""},
			{"release", "String", ""},
			{"release_key", "String", ""},
			{"until", eventTime, ""},
			{"until_count", "UInt64", ""},
			{"merged_into", "FixedString(16)", ""},
		},
		OrderBy:  []string{"project_id", "fingerprint", "offset"},
		Settings: []string{"index_granularity = 512", together},
	}
}
