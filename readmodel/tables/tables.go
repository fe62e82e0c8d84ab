// Package tables defines the ClickHouse tables of the read models: one
// definition per table, rendered to DDL for whatever name, generation and
// engine settings are asked for.
//
// Folds fill these tables and read endpoints query them, so this package is
// where both sides meet; it talks to no server itself. Every aggregate column
// is a commutative, associative and deterministic function of the log's
// records (sum, min, max, and min or max of a tuple that begins with the
// event's time), so late, repeated merging or out-of-order folding gives the
// same result, and a rebuild equals the live table.
//
// Rules for readers: tables whose Engine is Aggregating hold several partial
// rows per key until they are merged, so always GROUP BY the key and apply the
// aggregate named in the column's SimpleAggregateFunction again. Times are
// UTC. No table is partitioned by an event's own time (ts), which a client
// chooses, only by the received time.
package tables

import (
	"strconv"
	"strings"
)

// Engine says how rows with an equal sort key are treated.
type Engine string

const (
	// Plain keeps every row (MergeTree).
	Plain Engine = "MergeTree"
	// Aggregating merges rows with an equal sort key column by column, with
	// the function in the column's SimpleAggregateFunction type.
	Aggregating Engine = "AggregatingMergeTree"
)

// Column is one column, its ClickHouse type and codec ("" is the server's
// default, LZ4).
type Column struct {
	Name, Type, Codec string
}

// Index is a data-skipping index.
type Index struct {
	Name, Expr, Type string
	Granularity      int
}

// Rollup is a query over the table whose result ClickHouse keeps with each part
// (there it is called a projection), and reads instead of the rows wherever a
// query asks the same.
type Rollup struct {
	Name, Select string
}

// Table is one definition. Name is the plain name the live table bears.
type Table struct {
	Name        string
	Engine      Engine
	Columns     []Column
	Indexes     []Index
	Rollups     []Rollup
	OrderBy     []string
	PartitionBy string   // "" for none
	Shared      bool     // filled by several projections, which tell their rows apart
	Settings    []string // more settings, as "name = value"
}

// Options are the settings of a table that depend on where it runs.
type Options struct {
	// DeduplicationWindow is how many of the newest insert tokens the server
	// remembers per table (non_replicated_deduplication_window). 0 means
	// DefaultDeduplicationWindow.
	DeduplicationWindow int
	// Fsync makes an insert durable against power loss before it is
	// acknowledged (fsync_after_insert, fsync_part_directory). Switch it on
	// where one machine holds the only copy.
	Fsync bool
	// Fence makes the table refuse every insert that does not come with the
	// setting log_comment = Generation.Fence(). Projectors set it, so that one
	// that still believes in an older generation cannot write into the tables
	// of a newer one that bear the same name by now (after EXCHANGE TABLES, or
	// when they were dropped and made again). Tables shared by projections are
	// never fenced.
	Fence bool
}

// DefaultDeduplicationWindow covers about 40 minutes of blocks of one
// partition at the live pace of four a second. It must be larger than the
// number of blocks other projectors can insert while one that lost its
// partition is paused between checking its membership and inserting.
const DefaultDeduplicationWindow = 10_000

// ColumnNames lists the columns in the order of the definition.
func (t Table) ColumnNames() []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return names
}

// Physical is the name of the table's copy with a suffix: "" for the live one.
// A shared table has no copies.
func (t Table) Physical(suffix string) string {
	if t.Shared {
		return t.Name
	}
	return t.Name + suffix
}

// GenerationSuffix is the suffix of the tables of a generation that is not live.
func GenerationSuffix(generation int) string { return "__g" + strconv.Itoa(generation) }

// Insert is the statement that begins a batch of rows into the physical table,
// with the columns in the order of the definition.
func (t Table) Insert(physical string) string {
	quoted := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		quoted[i] = quote(c.Name)
	}
	return "INSERT INTO " + quote(physical) + " (" + strings.Join(quoted, ", ") + ")"
}

// All lists every table in a fixed order.
func All() []Table {
	return []Table{
		Events(), ErrorGroups(), ErrorGroupHours(), ErrorGroupFacets(), ErrorReleases(), ErrorAliases(), ErrorOccurrences(),
		ErrorTriage(), ErrorGroupList(),
		Deliveries(), DeliveryAttempts(), CostRollups(), PerformanceValues(), Rejections(), Quarantine(), FoldStarts(),
		QuarantineRetries(), Checks(),
	}
}
