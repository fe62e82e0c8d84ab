package native_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"weir/internal/clickhouse/chtest"
	"weir/internal/native"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

func TestInsert(t *testing.T) {
	at, database := chtest.Database(t)
	conn, err := clickhouse.Open(&clickhouse.Options{Addr: []string{at.Addr}, Auth: clickhouse.Auth{Database: database, Username: at.User, Password: at.Password}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Exec(t.Context(), "CREATE TABLE t (s String, n Int64) ENGINE = MergeTree ORDER BY n"); err != nil {
		t.Fatal(err)
	}
	p := native.Open(native.Config{Addrs: []string{at.Addr}, Database: database, Username: at.User, Password: at.Password})
	defer p.Close()
	var s native.Strings
	s.AppendString("a")
	s.AppendString("b")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = p.Insert(ctx, "INSERT INTO t (s, n) VALUES", map[string]string{"async_insert": "0"}, []native.Column{{"s", "String", &s}, {"n", "Int64", []int64{1, 2}}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	err = p.Insert(ctx, "INSERT INTO nothere (s, n) VALUES", nil, []native.Column{{"s", "String", &s}, {"n", "Int64", []int64{1, 2}}}, 2)
	var e *clickhouse.Exception
	if !errors.As(err, &e) || e.Code != 60 {
		t.Errorf("error is %v", err)
	}
}
