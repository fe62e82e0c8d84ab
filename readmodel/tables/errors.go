package tables

// together keeps all columns of a part in one file, whatever its size (by itself,
// ClickHouse has one for each column from 10 MB on). The page of a group reads
// one granule of nearly every column of every part, and opening a file and
// finding the place in it costs more than that granule: with a dozen columns
// this is two to four times faster. Who makes the lists reads few columns of all
// rows, for which it is slower, but does so seldom.
const together = "min_bytes_for_wide_part = 1099511627776"

// ErrorGroups is one row per error group once merged. Read it with
//
//		SELECT fingerprint, sum(count), min(first_seen), max(last_seen), max(latest), …
//		FROM error_groups WHERE project_id = ? GROUP BY project_id, fingerprint
//
//	  - fingerprint: 16 raw bytes; lower(hex(fingerprint)) is the wire form.
//	  - first_seen, last_seen: by the events' ts.
//	  - latest: the newest occurrence by (ts, event_id): its name, message (cut
//	    to 1 KiB) and culprit stand for the group.
//	  - latest_at: the latest moment at which an occurrence can have happened: the
//	    end of its ts's unit (a ts of whole seconds means the whole second), but not
//	    after it was received. What is newer than a resolution is decided by it,
//	    so that a client's clock that is ahead reopens nothing for ever.
//	  - first_release, last_release: (ts, release) of the earliest and latest
//	    occurrence that named a release. release is "" when none did.
//
// Sort key: lists read one project's groups, detail reads one of them; both
// are prefixes. No partitions: a group lives as long as its project, and
// partitions would keep its partial rows from ever merging. Granules are small
// here and below, because the most frequent read is of a few groups out of very
// many, and each costs at least a granule, of wide rows here. Parts are compact,
// here and below: see together.
func ErrorGroups() Table {
	return Table{
		Name:   "error_groups",
		Engine: Aggregating,
		Columns: []Column{
			{"project_id", "String", ""},
			{"fingerprint", "FixedString(16)", ""},
			{"count", "SimpleAggregateFunction(sum, UInt64)", ""},
			{"first_seen", "SimpleAggregateFunction(min, " + eventTime + ")", ""},
			{"last_seen", "SimpleAggregateFunction(max, " + eventTime + ")", ""},
			{"latest_at", "SimpleAggregateFunction(max, " + eventTime + ")", ""},
			{"latest", "SimpleAggregateFunction(max, Tuple(ts " + eventTime + ", event_id FixedString(16), name String, message String, culprit String, explanation String))", ""},
			{"first_release", "SimpleAggregateFunction(min, Tuple(ts " + eventTime + ", release String))", ""},
			{"last_release", "SimpleAggregateFunction(max, Tuple(ts " + eventTime + ", release String))", ""},
		},
		OrderBy:  []string{"project_id", "fingerprint"},
		Settings: []string{"index_granularity = 64", together},
	}
}

// ErrorGroupHours counts a group's occurrences by hour of their ts: the trend
// and the histogram. Read it with sum(count) GROUP BY fingerprint, hour.
//
// Sort key: always read for known fingerprints of one project over a range of
// hours.
func ErrorGroupHours() Table {
	return Table{
		Name:   "error_group_hours",
		Engine: Aggregating,
		Columns: []Column{
			{"project_id", "String", ""},
			{"fingerprint", "FixedString(16)", ""},
			{"hour", "DateTime64(0, 'UTC')", timeCodec},
			{"count", "SimpleAggregateFunction(sum, UInt64)", ""},
		},
		OrderBy:  []string{"project_id", "fingerprint", "hour"},
		Settings: []string{"index_granularity = 512", together},
	}
}

// Facet values of ErrorGroupFacets.
const (
	FacetRelease     = "release"
	FacetEnvironment = "environment"
	FacetService     = "service"
)

// ErrorGroupFacets says in which releases, environments and services a group
// was seen, how often and when. It is a side table, not arrays in ErrorGroups,
// so that a client that sends a new value with every event makes rows, not one
// row without bound. Occurrences without a value have no row. Values are cut
// to 256 bytes.
//
// release_key orders the releases that are semantic versions: as text, "" for
// others and other facets. latest_at is as in ErrorGroups.
//
// A group's environments: SELECT groupUniqArray(value) … WHERE facet =
// 'environment' GROUP BY fingerprint, over the page's fingerprints. A filter
// on environment: fingerprint IN (SELECT fingerprint … WHERE facet = … AND
// value = …).
//
// Sort key: read for the fingerprints of a page, or whole for one project.
func ErrorGroupFacets() Table {
	return Table{
		Name:   "error_group_facets",
		Engine: Aggregating,
		Columns: []Column{
			{"project_id", "String", ""},
			{"fingerprint", "FixedString(16)", ""},
			{"facet", "LowCardinality(String)", ""},
			{"value", "String", ""},
			{"count", "SimpleAggregateFunction(sum, UInt64)", ""},
			{"first_seen", "SimpleAggregateFunction(min, " + eventTime + ")", ""},
			{"last_seen", "SimpleAggregateFunction(max, " + eventTime + ")", ""},
			{"latest_at", "SimpleAggregateFunction(max, " + eventTime + ")", ""},
			{"release_key", "SimpleAggregateFunction(max, String)", ""},
		},
		OrderBy:  []string{"project_id", "fingerprint", "facet", "value"},
		Settings: []string{"index_granularity = 256", together},
	}
}

// ErrorOccurrences is one row per error event.
//
//   - stack, request: JSON as sent ("" when absent; stack may be a string or an
//     array); metadata: a JSON object of the fields the service does not know.
//
// Sort key: read for one group, newest first: (project_id, fingerprint, ts) in
// reverse order; event_id makes it total for cursors. Partitioned by month and
// not by day, because a page looks into every part: of ten million occurrences
// in a week it took 50 ms from thirty parts, and takes 5 from a dozen.
func ErrorOccurrences() Table {
	return Table{
		Name:   "error_occurrences",
		Engine: Plain,
		Columns: []Column{
			{"project_id", "String", ""},
			{"fingerprint", "FixedString(16)", ""},
			{"ts", eventTime, timeCodec},
			{"event_id", "FixedString(16)", ""},
			{"received_at", receivedTime, timeCodec},
			{"name", "String", ""},
			{"message", "String", ""},
			{"culprit", "String", ""},
			{"release", "String", ""},
			{"environment", "String", ""},
			{"service", "String", ""},
			{"stack", "String", ""},
			{"request", "String", ""},
			{"metadata", "String", ""},
			{"partition", "UInt32", ""},
			{"offset", "Int64", ""},
		},
		OrderBy:     []string{"project_id", "fingerprint", "ts", "event_id"},
		Settings:    []string{"index_granularity = 128", together},
		PartitionBy: byMonth,
	}
}
