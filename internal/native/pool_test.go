package native_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"weir/internal/clickhouse/chtest"
	"weir/internal/native"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

// stand is a database with a table t.
type stand struct {
	conn driver.Conn
	cfg  native.Config
}

func start(t *testing.T, columns string) *stand {
	t.Helper()
	at, database := chtest.Database(t)
	conn, err := clickhouse.Open(&clickhouse.Options{Addr: []string{at.Addr}, Auth: clickhouse.Auth{Database: database, Username: at.User, Password: at.Password}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.Exec(t.Context(), "CREATE TABLE t ("+columns+") ENGINE = MergeTree ORDER BY tuple() SETTINGS non_replicated_deduplication_window = 100"); err != nil {
		t.Fatal(err)
	}
	return &stand{conn, native.Config{Addrs: []string{at.Addr}, Database: database, Username: at.User, Password: at.Password}}
}

func (s *stand) open(t *testing.T) *native.Pool {
	p := native.Open(s.cfg)
	t.Cleanup(p.Close)
	return p
}

func (s *stand) one(t *testing.T, query string) (text string) {
	t.Helper()
	if err := s.conn.QueryRow(t.Context(), query).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// Every form a column may have arrives as it is.
func TestColumns(t *testing.T) {
	s := start(t, "s String, f FixedString(16), n9 DateTime64(9, 'UTC'), n3 DateTime64(3, 'UTC'), i8 Int8, i32 Int32, u32 UInt32, i64 Int64, "+
		"u64 SimpleAggregateFunction(sum, UInt64), d Float64, low LowCardinality(String), money Decimal(76, 38), pair Tuple(a String, b UInt32), none Nullable(DateTime64(3, 'UTC')), g String")
	var text native.Strings
	var fixed native.Fixed
	var nanos native.Nanos
	var millis native.Millis
	at := time.Date(2200, 12, 31, 23, 59, 59, 123456789, time.UTC)
	for i, v := range []string{"", "é\x00\"", strings.Repeat("x", 300)} {
		text.AppendString(v)
		fixed.Append([16]byte{15: byte(i)})
		nanos.Append(at)
		millis.Append(at)
	}
	columns := []native.Column{
		{Name: "s", Type: "String", Values: &text},
		{Name: "f", Type: "FixedString(16)", Values: &fixed},
		{Name: "n9", Type: "DateTime64(9, 'UTC')", Values: nanos},
		{Name: "n3", Type: "DateTime64(3, 'UTC')", Values: millis},
		{Name: "i8", Type: "Int8", Values: []int8{-1, 0, 1}},
		{Name: "i32", Type: "Int32", Values: []int32{-1, 0, 1}},
		{Name: "u32", Type: "UInt32", Values: []uint32{1 << 31, 0, 1}},
		{Name: "i64", Type: "Int64", Values: []int64{-1 << 63, 0, 1}},
		{Name: "u64", Type: "SimpleAggregateFunction(sum, UInt64)", Values: []uint64{1 << 63, 0, 1}},
		{Name: "d", Type: "Float64", Values: []float64{0.5, 0, 1}},
		{Name: "low", Type: "LowCardinality(String)", Values: []string{"a", "b", "a"}},
		{Name: "money", Type: "Decimal(76, 38)", Values: []decimal.Decimal{decimal.RequireFromString("-0.000000001"), {}, decimal.NewFromInt(7)}},
		{Name: "pair", Type: "Tuple(a String, b UInt32)", Values: [][]any{{"a", uint32(1)}, {"b", uint32(2)}, {"", uint32(0)}}},
		{Name: "none", Type: "Nullable(DateTime64(3, 'UTC'))", Values: []*time.Time{nil, &at, nil}},
		{Name: "g", Type: "String", Values: []string{"x", "", "z"}},
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	if err := s.open(t).Insert(t.Context(), "INSERT INTO t ("+strings.Join(names, ", ")+") VALUES", nil, columns, 3); err != nil {
		t.Fatal(err)
	}
	got := s.one(t, "SELECT arrayStringConcat(groupArray(toString(tuple(hex(s) = hex(repeat('x', 300)) ? 'long' : hex(s), hex(f), n9, n3, i8, i32, u32, i64, u64, d, low, money, pair, none, g))), '\\n') FROM t")
	want := `('','00000000000000000000000000000000','2200-12-31 23:59:59.123456789','2200-12-31 23:59:59.123',-1,-1,2147483648,-9223372036854775808,9223372036854775808,0.5,'a',-0.000000001,('a',1),NULL,'x')
('C3A90022','00000000000000000000000000000001','2200-12-31 23:59:59.123456789','2200-12-31 23:59:59.123',0,0,0,0,0,0,'b',0,('b',2),'2200-12-31 23:59:59.123','')
('long','00000000000000000000000000000002','2200-12-31 23:59:59.123456789','2200-12-31 23:59:59.123',1,1,1,1,1,1,'a',7,('',0),NULL,'z')`
	if got != want {
		t.Errorf("rows are\n%s\ninstead of\n%s", got, want)
	}
}

// Text of many pages, with values larger than a page, arrives in order, and the
// next block begins with none of it.
func TestPages(t *testing.T) {
	s := start(t, "n Int64, s String")
	p := s.open(t)
	var text native.Strings
	for round := range 2 {
		text.Reset()
		var numbers []int64
		for i := range 5000 {
			numbers = append(numbers, int64(i))
			text.AppendString(strings.Repeat(fmt.Sprint(i%10), (i*7919)%400))
		}
		numbers = append(numbers, -1)
		text.AppendString(strings.Repeat("y", 900_000))
		if text.Rows() != len(numbers) || len(text.Values()) != len(numbers) {
			t.Fatalf("%d rows, %d values of %d", text.Rows(), len(text.Values()), len(numbers))
		}
		settings := map[string]string{"insert_deduplication_token": fmt.Sprint(round)}
		if err := p.Insert(t.Context(), "INSERT INTO t (n, s) VALUES", settings, []native.Column{{"n", "Int64", numbers}, {"s", "String", &text}}, len(numbers)); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.one(t, "SELECT toString(tuple(count(), countIf(n >= 0 AND s = repeat(toString(n % 10), (n * 7919) % 400)), countIf(n < 0 AND s = repeat('y', 900000)))) FROM t"); got != "(10002,10000,2)" {
		t.Errorf("rows, right ones and large ones: %s", got)
	}
}

var oneRow = []native.Column{{"n", "Int64", []int64{1}}}

// What the server refuses is an exception with its code; the next insert works.
func TestRefused(t *testing.T) {
	s := start(t, "n Int64, CONSTRAINT c CHECK n > 0")
	p := s.open(t)
	var e *clickhouse.Exception
	if err := p.Insert(t.Context(), "INSERT INTO nothere (n) VALUES", nil, oneRow, 1); !errors.As(err, &e) || e.Code != 60 {
		t.Errorf("error is %v, expected exception 60", err)
	}
	if err := p.Insert(t.Context(), "INSERT INTO t (n) VALUES", nil, []native.Column{{"n", "Int64", []int64{0}}}, 1); !errors.As(err, &e) || e.Code != 469 {
		t.Errorf("error is %v, expected exception 469", err)
	}
	if err := p.Insert(t.Context(), "INSERT INTO t (n) VALUES", nil, oneRow, 1); err != nil {
		t.Error(err)
	}
	for _, bad := range [][]native.Column{{{"n", "Int64", []int32{1}}}, {{"n", "Int64", []int64{1, 2}}}, {{"n", "Int64", &native.Strings{}}}} {
		if err := p.Insert(t.Context(), "INSERT INTO t (n) VALUES", nil, bad, 1); err == nil || errors.As(err, &e) && e.Code != 469 {
			t.Errorf("a block that does not fit: error is %v", err)
		}
	}
	if got := s.one(t, "SELECT toString(count()) FROM t"); got != "1" {
		t.Errorf("%s rows", got)
	}
}

// A connection that was cut while idle costs one error, and a token makes the
// repetition harmless, also when only the answer was lost.
func TestCutConnections(t *testing.T) {
	s := start(t, "n Int64")
	var last net.Conn
	cfg := s.cfg
	cfg.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		last = c
		return c, err
	}
	p := native.Open(cfg)
	defer p.Close()
	insert := func(ctx context.Context, token string) error {
		return p.Insert(ctx, "INSERT INTO t (n) VALUES", map[string]string{"insert_deduplication_token": token}, oneRow, 1)
	}
	if err := insert(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	_ = last.Close()
	var e *clickhouse.Exception
	if err := insert(t.Context(), "b"); err == nil || errors.As(err, &e) {
		t.Errorf("over a cut connection: error is %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := insert(ended, "b"); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context ended: error is %v", err)
	}
	for range 3 {
		if err := insert(t.Context(), "b"); err != nil {
			t.Error(err)
		}
	}
	if got := s.one(t, "SELECT toString(count()) FROM t"); got != "2" {
		t.Errorf("%s rows instead of 2", got)
	}
	p.Close()
	if err := insert(t.Context(), "c"); !errors.Is(err, native.ErrClosed) {
		t.Errorf("after Close: error is %v", err)
	}
}

func TestStringsDoNotAllocatePerValue(t *testing.T) {
	var s native.Strings
	value := []byte(strings.Repeat("x", 300))
	fill := func() {
		s.Reset()
		for range 10_000 {
			s.Append(value)
		}
	}
	fill()
	if n := testing.AllocsPerRun(10, fill); n > 50 { // pages that the collector took from the pool
		t.Errorf("%v allocations for 10,000 values", n)
	}
}
