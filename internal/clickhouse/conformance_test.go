package clickhouse_test

import (
	"context"
	"fmt"
	"testing"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/internal/clickhouse"
	"weir/internal/clickhouse/chtest"
)

// These tests pin what the read models need of the engine, whichever engine is found.

func exec(t *testing.T, conn driver.Conn, queries ...string) {
	t.Helper()
	for _, query := range queries {
		if err := conn.Exec(context.Background(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
}

func one[T any](t *testing.T, conn driver.Conn, query string) (value T) {
	t.Helper()
	if err := conn.QueryRow(context.Background(), query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

func insert(t *testing.T, conn driver.Conn, token string, values ...uint64) {
	t.Helper()
	ctx := ch.Context(context.Background(), ch.WithSettings(ch.Settings{
		"insert_deduplicate": 1, "insert_deduplication_token": token, "deduplicate_blocks_in_dependent_materialized_views": 1,
	}))
	batch, err := conn.PrepareBatch(ctx, "insert into base")
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range values {
		if err := batch.Append(value); err != nil {
			t.Fatal(err)
		}
	}
	if err := batch.Send(); err != nil {
		t.Fatal(err)
	}
}

const durable = "settings non_replicated_deduplication_window = 100, fsync_after_insert = 1, fsync_part_directory = 1"

// A block repeated with its token is dropped, in the table and in what a view made of it; the
// same rows with another token are not.
func TestDeduplicationByToken(t *testing.T) {
	conn := chtest.Open(t)
	exec(t, conn,
		"create table base (x UInt64) engine MergeTree order by x "+durable,
		"create table sums (k UInt8, total AggregateFunction(sum, UInt64)) engine AggregatingMergeTree order by k "+durable,
		"create materialized view view to sums as select 1 as k, sumState(x) as total from base group by k")
	insert(t, conn, "a:[0,2)", 1, 2)
	insert(t, conn, "a:[0,2)", 1, 2)
	insert(t, conn, "a:[2,4)", 1, 2)
	if rows := one[uint64](t, conn, "select count() from base"); rows != 4 {
		t.Errorf("base has %d rows, expected 4", rows)
	}
	if total := one[uint64](t, conn, "select sumMerge(total) from sums"); total != 6 {
		t.Errorf("the view's sum is %d, expected 6", total)
	}
}

// EXCHANGE TABLES swaps contents and comments at once.
func TestExchangeTables(t *testing.T) {
	conn := chtest.Open(t)
	exec(t, conn,
		"create table a (x UInt64) engine MergeTree order by x comment 'first'",
		"create table b (x UInt64) engine MergeTree order by x comment 'second'",
		"insert into b values (1)",
		"exchange tables a and b")
	if rows := one[uint64](t, conn, "select count() from a"); rows != 1 {
		t.Errorf("a has %d rows after the exchange, expected b's 1", rows)
	}
	if comment := one[string](t, conn, "select comment from system.tables where database = currentDatabase() and name = 'a'"); comment != "second" {
		t.Errorf("a has the comment %q after the exchange, expected b's", comment)
	}
}

// The column types and functions of the read models exist.
func TestTypes(t *testing.T) {
	conn := chtest.Open(t)
	exec(t, conn,
		`create table t (id FixedString(16), ts DateTime64(9, 'UTC'), amount Decimal(38, 9), name LowCardinality(String), doc JSON)
		 engine MergeTree partition by toYYYYMM(ts) order by id`,
		`insert into t values (unhex('000102030405060708090a0b0c0d0e0f'), '2026-11-21 00:00:00.123456789', '79228162514264337593543950.335000001', 'n', '{"a":{"b":1}}')`,
		"alter table t update name = 'm' where 1 settings mutations_sync = 1")
	got := one[string](t, conn, "select concat(toString(amount), ' ', toString(ts), ' ', toString(doc.a.b), ' ', name) from t")
	if want := "79228162514264337593543950.335000001 2026-11-21 00:00:00.123456789 1 m"; got != want {
		t.Errorf("read back %q, expected %q", got, want)
	}
}

// A database made by us is Atomic, and it and its rows and tokens outlive kill -9.
func TestKeepsItsDataThroughKill(t *testing.T) {
	server := start(t, chtest.Config(t, t.TempDir()))
	conn := connect(t, server)
	exec(t, conn, "create database weir engine Atomic", "create table weir.base (x UInt64) engine MergeTree order by x "+durable)
	for i := range 20 {
		insertInto(t, conn, fmt.Sprint(i), uint64(i))
		if i%5 == 4 {
			killAndWait(t, server)
		}
	}
	for i := range 20 {
		insertInto(t, conn, fmt.Sprint(i), uint64(i))
	}
	if engine := one[string](t, conn, "select engine from system.databases where name = 'weir'"); engine != "Atomic" {
		t.Errorf("the database is %s, expected Atomic", engine)
	}
	if rows := one[uint64](t, conn, "select count() from weir.base"); rows != 20 {
		t.Errorf("%d rows after four kills and repeated inserts, expected 20", rows)
	}
}

func insertInto(t *testing.T, conn driver.Conn, token string, value uint64) {
	t.Helper()
	ctx := ch.Context(context.Background(), ch.WithSettings(ch.Settings{"insert_deduplication_token": token, "async_insert": 0}))
	if err := conn.Exec(ctx, fmt.Sprintf("insert into weir.base values (%d)", value)); err != nil {
		t.Fatal(err)
	}
}

func connect(t *testing.T, server *clickhouse.Server) driver.Conn {
	t.Helper()
	conn, err := ch.Open(&ch.Options{Addr: []string{server.NativeAddr()}, Auth: server.Access().Auth("default")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
