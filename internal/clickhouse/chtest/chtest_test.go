package chtest_test

import (
	"context"
	"os"
	"testing"

	"weir/internal/clickhouse/chtest"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

// Each test has a database of its own on the shared server.
func TestOwnDatabase(t *testing.T) {
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) {
			conn := chtest.Open(t)
			ctx := context.Background()
			if err := conn.Exec(ctx, "create table t (x UInt64) engine MergeTree order by x"); err != nil {
				t.Fatal(err)
			}
			if err := conn.Exec(ctx, "insert into t values (1)"); err != nil {
				t.Fatal(err)
			}
			var rows uint64
			if err := conn.QueryRow(ctx, "select count() from t").Scan(&rows); err != nil || rows != 1 {
				t.Fatalf("rows %d, error %v; expected 1 row", rows, err)
			}
		})
	}
}
