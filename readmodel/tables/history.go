package tables

import (
	"strconv"
	"strings"
)

// Types used by several tables.
const (
	eventTime    = "DateTime64(9, 'UTC')" // an event's ts: nanoseconds, 1970 to 2200
	receivedTime = "DateTime64(3, 'UTC')" // the gateway's clock, milliseconds
	timeCodec    = "Delta(8), LZ4"
	byDay        = "toDate(`received_at`)"
	byMonth      = "toYYYYMM(`received_at`)"
)

// EventTypes are the values of the type column of Events, by code: the code
// of a type is its index and never changes (a new type is appended).
var EventTypes = []string{
	"audit", "config", "cost", "deploy", "error", "feature_flag", "log",
	"performance", "repository", "tenant", "trace", "video", "webhook",
}

// eventTypeColumn is an Enum8, because one byte is cheap to write and compare
// and rows still read as the wire name.
func eventTypeColumn() string {
	var b strings.Builder
	b.WriteString("Enum8(")
	for i, name := range EventTypes {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("'" + name + "' = " + strconv.Itoa(i))
	}
	b.WriteString(")")
	return b.String()
}

// Events holds every event of every type as it was sent: one row per record.
//
//   - event_id: 16 raw bytes; lower(hex(event_id)) is the wire form.
//   - data: the event's data object as sent; extra: a JSON object of the
//     members beside type, ts and data, "" when there are none.
//   - partition, offset: where the record is in the topic of its type.
//
// Sort key: every read is for one project, almost always over a range of
// event time, newest first; so (project_id, ts) makes a page a short read in
// reverse order, and event_id makes the order total, which a cursor needs.
// type is not in front: pages over all types are the common case, the column
// is one byte, and a filter on it reads little.
//
// Index by_trace leads to the spans of a trace, which lie anywhere in time. It
// costs a look into data for trace events only. Index by_arrival skips what is
// not new for a tail: event time and received time mostly run together.
//
// Rollups per_second, per_minute and per_hour count events by type, so that a
// histogram of ten million events reads thousands of counts.
func Events() Table {
	return Table{
		Name:   "events",
		Engine: Plain,
		Columns: []Column{
			{"event_id", "FixedString(16)", ""},
			{"project_id", "String", ""},
			{"type", eventTypeColumn(), ""},
			{"ts", eventTime, timeCodec},
			{"received_at", receivedTime, timeCodec},
			{"data", "String", ""},
			{"extra", "String", ""},
			{"partition", "UInt32", ""},
			{"offset", "Int64", timeCodec},
		},
		Indexes: []Index{
			{"by_type", "type", "set(16)", 4},
			{"by_trace", TraceIDs, "bloom_filter(0.01)", 4},
			{"by_arrival", "received_at", "minmax", 1},
		},
		Rollups: []Rollup{
			{"per_second", "SELECT project_id, " + EventSecond + ", type, count() GROUP BY project_id, " + EventSecond + ", type"},
			{"per_minute", "SELECT project_id, " + EventMinute + ", type, count() GROUP BY project_id, " + EventMinute + ", type"},
			{"per_hour", "SELECT project_id, " + EventHour + ", type, count() GROUP BY project_id, " + EventHour + ", type"},
		},
		OrderBy:     []string{"project_id", "ts", "event_id"},
		PartitionBy: byDay,
	}
}

// The expressions of the rollups of Events, which a query must use as they are:
// whole seconds, minutes and hours since 1970. They are numbers, because ClickHouse's
// functions of dates end in 2106 and events do not.
const (
	EventSecond = "toUnixTimestamp64Second(ts)"
	EventMinute = "intDiv(toUnixTimestamp64Second(ts), 60)"
	EventHour   = "intDiv(toUnixTimestamp64Second(ts), 3600)"
)

// TraceIDs is the expression of the index by_trace, which a query must use as
// it is: what a trace event's data has as traceId, as spelled in the JSON text,
// [] for other types. It may hold more than the event's own trace id (of a
// nested object), and misses only a name or an id written with needless
// escapes. It is a pattern, not a JSON function, because those depend on the
// settings of whoever inserts or asks.
const TraceIDs = `if(type = 'trace', extractAll(data, '"traceId"\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)"'), [])`

// Quarantine holds the records no fold could take: one row per record and
// projection. It is filled in the same planned block as the projection's own
// tables, so a record is in it exactly once per generation.
//
// It is one table for all projections; the rows of the live generation of a
// projection are the ones whose generation equals the one in the comment of
// that projection's tables.
//
//   - payload: the record's bytes, cut to 16 KiB; payload_bytes: its whole size.
//   - reason: why, in words for an operator.
//
// Sort key: it is read by projection and generation, and a retry walks it in
// log order.
func Quarantine() Table {
	return Table{
		Name:   "quarantine",
		Engine: Plain,
		Columns: []Column{
			{"projection", "LowCardinality(String)", ""},
			{"generation", "UInt32", ""},
			{"topic", "LowCardinality(String)", ""},
			{"partition", "UInt32", ""},
			{"offset", "Int64", ""},
			{"received_at", receivedTime, ""},
			{"project_id", "String", ""},
			{"event_id", "FixedString(16)", ""},
			{"reason", "String", ""},
			{"payload", "String", "ZSTD(1)"},
			{"payload_bytes", "UInt64", ""},
		},
		Shared:      true,
		OrderBy:     []string{"projection", "generation", "topic", "partition", "offset"},
		PartitionBy: byMonth,
	}
}

// FoldStarts says where each generation of a projection began in each partition:
// one row per projection, generation, topic and partition (rows that are there
// twice are equal). A partition that has a row here but no checkpoint in its
// consumer group has lost it; one that has neither is new.
func FoldStarts() Table {
	return Table{
		Name:   "fold_starts",
		Engine: Plain,
		Columns: []Column{
			{"projection", "LowCardinality(String)", ""},
			{"generation", "UInt32", ""},
			{"topic", "LowCardinality(String)", ""},
			{"partition", "UInt32", ""},
			{"offset", "Int64", ""},
		},
		Shared:  true,
		OrderBy: []string{"projection", "generation", "topic", "partition"},
	}
}
