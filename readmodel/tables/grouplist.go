package tables

// ErrorGroupListVersion is the version of the definition below. A table with
// another one is dropped and made anew: it holds nothing of its own.
const ErrorGroupListVersion = 2

// ListedValues is how many environments, services and releases of one group
// stand in its row of ErrorGroupList, of each, the most frequent first.
const ListedValues = 256

// ErrorGroupList is the lists of error groups of large projects, ready to be
// read: for each order that a list can have one row per group, merged groups as
// one, with everything a page shows and everything a filter asks. It is made
// anew from the folded tables, a project at a time, whenever they have changed,
// and put in place whole (REPLACE PARTITION), so a reader sees one state or the
// next.
//
// Sort key: whatever the order, a page is the end (or the beginning) of its
// rows, read until the page is full: one or two granules, which are small for
// that. A filter that many groups pass takes some granules more; of one that few
// pass, the indexes leave out the granules in which none does. Only in between,
// where about as many groups pass as a page has, much of a column is read, and
// the columns that filters name are narrow for that. Against that, sorting
// 100,000 groups by another column than the key's takes 8 ms of a core, with a
// text to look for in each 20, and grouping error_groups for each read 50.
// The price is paid by who makes the list: three rows per group instead of one
// are 2 s of a core per 100,000 groups.
//
//   - sorted, place: the order, and the value it goes by: nanoseconds or a count.
//   - total, first_at, last_at: occurrences, first and last seen in nanoseconds.
//   - state: the status but for ignored_until, which is a time (0: no end).
//   - environments, services, releases: the values that the group was seen with,
//     the most frequent first. A group with more than ListedValues of one has
//     more = 1: whether it was seen with another value, error_group_facets knows.
//   - search: what a text is looked for in, in small letters, so that a search
//     need not change letters again: name, message and culprit, a line each.
//     by_search skips granules by their trigrams: 512 groups have some 60 KB of
//     text, in which a filter of 16 KB still tells apart words that are rare.
//   - item: what a page shows and nobody asks for, one JSON object: name, message,
//     culprit, first_release, last_release, environments, services, hours (since
//     1970, a day and a night back), hits (in those hours). One column, because
//     opening and finding one costs more than reading a page of it.
//
// Partitioned by project, because that is the unit that is replaced. Only
// projects with so many groups that it pays have one.
func ErrorGroupList() Table {
	const values = "Array(LowCardinality(String))"
	return Table{
		Name:   "error_group_list",
		Engine: Plain,
		Columns: []Column{
			{"project_id", "String", ""},
			{"sorted", "Enum8('last_seen' = 0, 'first_seen' = 1, 'count' = 2)", ""},
			{"place", "Int64", ""},
			{"fingerprint", "FixedString(16)", ""},
			{"total", "Int64", ""},
			{"first_at", "Int64", timeCodec},
			{"last_at", "Int64", timeCodec},
			{"state", "LowCardinality(String)", ""},
			{"ignored_until", "Int64", ""},
			{"environments", values, ""},
			{"services", values, ""},
			{"releases", values, ""},
			{"more", "UInt8", ""},
			{"search", "String", ""},
			{"item", "String", ""},
		},
		Indexes: []Index{
			{"by_state", "state", "set(8)", 1},
			{"by_environment", "environments", "bloom_filter(0.01)", 1},
			{"by_service", "services", "bloom_filter(0.01)", 1},
			{"by_release", "releases", "bloom_filter(0.01)", 1},
			{"by_search", "search", "ngrambf_v1(3, 16384, 2, 0)", 1},
		},
		OrderBy:     []string{"project_id", "sorted", "place", "fingerprint"},
		PartitionBy: "`project_id`",
		Settings:    []string{"index_granularity = 512", "old_parts_lifetime = 30"},
	}
}
