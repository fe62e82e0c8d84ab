package projections

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/internal/native"
	"weir/readmodel/tables"
)

// sink takes one block, whole or not at all, and at most once per token. After
// an error the block may or may not be in the table.
type sink interface {
	insert(ctx context.Context, token string, b Block) error
}

// Inserter puts one block into a table: a native.Pool. Its Insert returns a *clickhouse.Exception
// for what the server refused; after any other error the block may be in the table or not. The
// columns are not used any more when it has returned. It is called at once from many goroutines.
type Inserter interface {
	Insert(ctx context.Context, query string, settings map[string]string, columns []native.Column, rows int) error
}

// insertTimeout bounds one try. A block that takes longer is tried again with
// the same token.
const insertTimeout = 2 * time.Minute

// AnswerTimeout is the read timeout that Config.ClickHouse must have at least:
// an answer may be silent for as long as one insert or one digest takes.
const AnswerTimeout = 10 * time.Minute

// TokenWindow is how many insert tokens a table must remember (tables.Options.DeduplicationWindow)
// when its projection folds that many partitions: each makes at most one block per linger, and a
// block may be repeated for as long as its first answer may take to come.
func TokenWindow(partitions int) int {
	blocks := partitions * int(AnswerTimeout/linger)
	return max(blocks, tables.DefaultDeduplicationWindow)
}

// clickhouseSink inserts into the tables of one generation.
type clickhouseSink struct {
	inserts Inserter
	fence   string
	suffix  string        // of the physical tables; "" for the live ones
	slots   chan struct{} // one per insert that may run at once
	known   map[string]bool
	timeout time.Duration // of one insert
	alone   bool          // the shared tables, too, have a copy with the suffix
}

// physical is the name of the table that a block goes to.
func (s *clickhouseSink) physical(t tables.Table) string {
	if s.alone {
		return t.Name + s.suffix
	}
	return t.Physical(s.suffix)
}

// insertSettings are given with every insert: what exactly-once rests on must
// not depend on a server's or a profile's defaults.
//
//   - insert_deduplicate, insert_deduplication_token: drop what is already there;
//   - log_comment: what the table's fence asks for;
//   - deduplicate_blocks_in_dependent_materialized_views: in views, too;
//   - async_insert: off, the answer means that the rows are in the table;
//   - the four block sizes and max_insert_threads: the block stays one block;
//   - max_partitions_per_insert_block: a block of a catch-up may span any
//     number of days;
//   - max_execution_time: an insert is bounded from this side (insertTimeout).
func insertSettings(token, fence string) map[string]string {
	return map[string]string{
		"insert_deduplicate":         "1",
		"insert_deduplication_token": token,
		"log_comment":                fence,
		"deduplicate_insert":         "enable",
		"deduplicate_blocks_in_dependent_materialized_views": "1",
		"async_insert":                    "0",
		"max_insert_block_size":           "16777216",
		"max_insert_block_size_bytes":     "0",
		"min_insert_block_size_rows":      "0",
		"min_insert_block_size_bytes":     "0",
		"max_insert_threads":              "1",
		"max_partitions_per_insert_block": "0",
		"max_execution_time":              "0",
	}
}

// newSink learns which of the settings the server knows: an older one has not
// all of them, and refuses what it does not know.
func newSink(ctx context.Context, conn driver.Conn, inserts Inserter, g tables.Generation, suffix string, slots chan struct{}) (*clickhouseSink, error) {
	s := &clickhouseSink{inserts: inserts, fence: g.Fence(), suffix: suffix, slots: slots, known: map[string]bool{}, timeout: insertTimeout}
	ctx, cancel := steady(ctx)
	defer cancel()
	rows, err := conn.Query(ctx, "SELECT name FROM system.settings")
	if err != nil {
		return nil, fmt.Errorf("reading the settings ClickHouse knows: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("reading the settings ClickHouse knows: %w", err)
		}
		s.known[name] = true
	}
	return s, rows.Err()
}

func (s *clickhouseSink) insert(ctx context.Context, token string, b Block) error {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	settings := insertSettings(token, s.fence)
	for name := range settings {
		if !s.known[name] {
			delete(settings, name)
		}
	}
	return send(ctx, s.inserts, settings, s.physical(b.Table), b)
}

// send sends a block's columns as one block.
func send(ctx context.Context, to Inserter, settings map[string]string, physical string, b Block) error {
	if len(b.Columns) != len(b.Table.Columns) {
		return fmt.Errorf("block of table %s has %d columns instead of %d", b.Table.Name, len(b.Columns), len(b.Table.Columns))
	}
	columns := make([]native.Column, len(b.Columns))
	for i, c := range b.Table.Columns {
		columns[i] = native.Column{Name: c.Name, Type: c.Type, Values: b.Columns[i]}
	}
	if err := to.Insert(ctx, b.Table.Insert(physical)+" VALUES", settings, columns, b.Rows); err != nil {
		return fmt.Errorf("inserting %d rows into %s: %w", b.Rows, b.Table.Name, err)
	}
	return nil
}
