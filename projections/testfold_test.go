package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/eventlog"
	"weir/internal/clickhouse/chtest"
	"weir/projections/foldtest"
	"weir/readmodel/tables"
	"weir/schemas"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

// The projection of these tests: records are numbers; "bad…" is refused and
// "panic…" panics in the middle of a row. One table keeps every record, by the
// day it was received, and the other sums by key.
var topicUnderTest = eventlog.EventsTopic(schemas.Log)

func linesTable() tables.Table {
	return tables.Table{
		Name: "lines", Engine: tables.Plain, OrderBy: []string{"offset"}, PartitionBy: "toDate(received_at)",
		Columns: []tables.Column{
			{Name: "partition", Type: "UInt32"}, {Name: "offset", Type: "Int64"},
			{Name: "value", Type: "Int64"}, {Name: "received_at", Type: "DateTime64(3, 'UTC')"}, {Name: "project_id", Type: "String"},
		},
	}
}

func tallyTable() tables.Table {
	return tables.Table{
		Name: "tally", Engine: tables.Aggregating, OrderBy: []string{"key"},
		Columns: []tables.Column{
			{Name: "key", Type: "String"},
			{Name: "records", Type: "SimpleAggregateFunction(sum, UInt64)"},
			{Name: "total", Type: "SimpleAggregateFunction(sum, Int64)"},
		},
	}
}

func tallyProjection() Projection {
	return Projection{
		Name: "tally", Version: 1, Topics: []string{topicUnderTest},
		Tables: []tables.Table{linesTable(), tallyTable()},
		New:    func() Fold { return &tallyFold{} },
		Measures: []Measure{
			{Table: linesTable(), Rows: "count()", Partition: "`partition`"},
			{Table: tallyTable(), Rows: "sum(records)", Project: "key"},
		},
	}
}

type tallyFold struct {
	partition []uint32
	offset    []int64
	value     []int64
	received  []time.Time
	project   []string
	count     map[string]uint64
	total     map[string]int64
}

func (f *tallyFold) Add(r *eventlog.Record) error {
	text := string(r.Value)
	if strings.HasPrefix(text, "bad") {
		return errors.New("value: not a number")
	}
	f.partition = append(f.partition, uint32(r.Partition))
	f.offset = append(f.offset, r.Offset)
	if strings.HasPrefix(text, "panic") {
		panic("half a row is in")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	f.value = append(f.value, n)
	f.received = append(f.received, r.Time)
	f.project = append(f.project, string(r.Key))
	f.count[string(r.Key)]++
	f.total[string(r.Key)] += n
	return nil
}

func (f *tallyFold) Blocks() []Block {
	var keys []string
	var counts []uint64
	var totals []int64
	for k, n := range f.count {
		keys, counts, totals = append(keys, k), append(counts, n), append(totals, f.total[k])
	}
	return []Block{
		{Table: linesTable(), Columns: []any{f.partition, f.offset, f.value, f.received, f.project}, Rows: len(f.offset)},
		{Table: tallyTable(), Columns: []any{keys, counts, totals}, Rows: len(keys)},
	}
}

func (f *tallyFold) Reset() { *f = tallyFold{count: map[string]uint64{}, total: map[string]int64{}} }

// sums is what the tables must hold.
type sums struct {
	lines, offsets uint64 // rows, and different (partition, offset) pairs
	total          int64
	tallied        uint64
	tallyTotal     int64
	quarantined    uint64
}

func readSums(t testing.TB, e *foldtest.Engines) sums {
	t.Helper()
	var s sums
	row := func(query string, to ...any) {
		if err := e.Conn.QueryRow(context.Background(), query).Scan(to...); err != nil {
			t.Fatal(err)
		}
	}
	row("SELECT count(), uniqExact(partition, offset), sum(value) FROM lines", &s.lines, &s.offsets, &s.total)
	row("SELECT sum(records), sum(total) FROM tally", &s.tallied, &s.tallyTotal)
	row("SELECT count() FROM quarantine WHERE projection = 'tally'", &s.quarantined)
	return s
}

// newProjector makes a projector of its own process: with its own connection to
// the log.
func newProjector(t testing.TB, e *foldtest.Engines, partitions int) *Projector {
	t.Helper()
	p, err := New(Config{
		Log: e.Open(t, partitions), ClickHouse: e.Conn, Blocks: e.Blocks, Projections: []Projection{tallyProjection()},
		BlockRecords: 70, Linger: 20 * time.Millisecond, Logger: testLogger(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	p.holdAgain = 200 * time.Millisecond
	return p
}

func testLogger(t testing.TB) *slog.Logger {
	if testing.Verbose() && os.Getenv("WEIR_TEST_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

// start runs a projector until stop is called, which waits for its end.
func start(t testing.TB, p *Projector) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.Run(ctx)
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// waitFolded waits until the checkpoints cover the positions.
func waitFolded(t testing.TB, e *foldtest.Engines, p Projection, until ...eventlog.Position) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m := NewMonitor(e.Log, e.Conn, []Projection{p}, testLogger(t), nil)
	if err := m.Wait(ctx, p.Name, until); err != nil {
		t.Fatal(err)
	}
}

// numbers are the values from a to b, without b.
func numbers(a, b int) []string {
	var values []string
	for n := a; n < b; n++ {
		values = append(values, fmt.Sprint(n))
	}
	return values
}
