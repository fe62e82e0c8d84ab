package tables_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"weir/internal/clickhouse/chtest"
	"weir/readmodel/tables"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

func TestComment(t *testing.T) {
	g := tables.Generation{Projection: "costs", Version: 2, Generation: 7}
	got, err := tables.ParseComment(g.Comment())
	if err != nil || got != g {
		t.Errorf("read back %+v, error %v", got, err)
	}
	for _, text := range []string{"", "made by hand", "{}", `{"projection":"costs"}`} {
		if _, err := tables.ParseComment(text); err == nil {
			t.Errorf("comment %q was taken", text)
		}
	}
}

func TestCreate(t *testing.T) {
	table := tables.Table{
		Name: "t", Engine: tables.Plain, OrderBy: []string{"a", "b"}, PartitionBy: "toDate(`received_at`)",
		Columns: []tables.Column{{Name: "a", Type: "Int64", Codec: "ZSTD(1)"}, {Name: "b", Type: "String"}},
		Indexes: []tables.Index{{Name: "i", Expr: "a", Type: "minmax", Granularity: 2}},
		Rollups: []tables.Rollup{{Name: "r", Select: "SELECT a, count() GROUP BY a"}},
	}
	got := table.Create("t__g2", tables.Generation{Projection: "p", Version: 1, Generation: 2}, tables.Options{Fsync: true, Fence: true, DeduplicationWindow: 9})
	want := "CREATE TABLE IF NOT EXISTS `t__g2`\n(\n" +
		"    `a` Int64 CODEC(ZSTD(1)),\n    `b` String,\n    INDEX `i` a TYPE minmax GRANULARITY 2,\n    PROJECTION `r` (SELECT a, count() GROUP BY a),\n" +
		"    CONSTRAINT generation CHECK getSetting('log_comment') = 'p:2'\n)\n" +
		"ENGINE = MergeTree\nPARTITION BY toDate(`received_at`)\nORDER BY (`a`, `b`)\n" +
		"SETTINGS non_replicated_deduplication_window = 9, fsync_after_insert = 1, fsync_part_directory = 1\n" +
		`COMMENT '{"projection":"p","version":1,"generation":2}'`
	if got != want {
		t.Errorf("rendered\n%s\ninstead of\n%s", got, want)
	}
}

// A client chooses ts, so no table may make its parts by it.
func TestPartitionedByReceivedTimeOnly(t *testing.T) {
	for _, table := range tables.All() {
		if table.PartitionBy != "" && !strings.Contains(table.PartitionBy, "received_at") && table.PartitionBy != "`project_id`" {
			t.Errorf("table %s is partitioned by %s", table.Name, table.PartitionBy)
		}
		for _, key := range table.OrderBy {
			if !slices.Contains(table.ColumnNames(), key) {
				t.Errorf("table %s is sorted by %s, which it has not", table.Name, key)
			}
		}
	}
}

// ClickHouse takes every definition as it is, and keeps its comment through an
// exchange of names.
func TestEngineTakesAllTables(t *testing.T) {
	conn := chtest.Open(t)
	ctx := context.Background()
	for _, table := range tables.All() {
		for generation, name := range map[int]string{1: table.Name, 2: table.Name + "_next"} {
			g := tables.Generation{Projection: "p", Version: 1, Generation: generation}
			if err := conn.Exec(ctx, table.Create(name, g, tables.Options{Fsync: true, Fence: true})); err != nil {
				t.Fatalf("table %s: %v", name, err)
			}
		}
		if err := conn.Exec(ctx, "EXCHANGE TABLES "+table.Name+" AND "+table.Name+"_next"); err != nil {
			t.Fatal(err)
		}
		var comment string
		if err := conn.QueryRow(ctx, "SELECT comment FROM system.tables WHERE database = currentDatabase() AND name = ?", table.Name).Scan(&comment); err != nil {
			t.Fatal(err)
		}
		if g, err := tables.ParseComment(comment); err != nil || g.Generation != 2 {
			t.Errorf("after the exchange, table %s is generation %d, error %v", table.Name, g.Generation, err)
		}
	}
}
