// Package foldtest gives tests of folds what they need: records as the log would
// hand them out, the rows of a block in readable form, and the real engines on
// both sides, an embedded broker and a ClickHouse.
package foldtest

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/eventlog"
	engine "weir/internal/clickhouse"
	"weir/internal/clickhouse/chtest"
	"weir/internal/native"
	"weir/schemas"
)

// Received is when the records of this package were received.
var Received = time.Date(2026, 11, 21, 10, 0, 0, int(123*time.Millisecond), time.UTC)

// Records are events as they come from the topic of type t: one record each,
// from offset first on, with event ids that depend on the offset only.
func Records(t schemas.Type, project string, first int64, events ...string) []eventlog.Record {
	records := make([]eventlog.Record, len(events))
	for i, e := range events {
		records[i] = Record(t, project, first+int64(i), e)
	}
	return records
}

// Record is one of Records.
func Record(t schemas.Type, project string, offset int64, event string) eventlog.Record {
	r := eventlog.Record{Topic: eventlog.EventsTopic(t), Offset: offset, Time: Received, Key: []byte(project), Value: []byte(event), Index: 0}
	binary.BigEndian.PutUint64(r.Batch[:8], 0x77656972)
	binary.BigEndian.PutUint64(r.Batch[8:], uint64(offset))
	return r
}

// Event writes an event of type t.
func Event(t schemas.Type, ts, data string) string {
	return fmt.Sprintf(`{"type":%q,"ts":%q,"data":%s}`, t.String(), ts, data)
}

// Rows turns a block's columns into one map per row, by column name.
func Rows(names []string, columns []any) []map[string]any {
	if len(names) != len(columns) {
		panic(fmt.Sprintf("%d columns for %d names", len(columns), len(names)))
	}
	columns = slices.Clone(columns)
	for c := range columns {
		switch sent := columns[c].(type) {
		case interface{ Values() []string }:
			columns[c] = sent.Values()
		case interface{ Values() []time.Time }:
			columns[c] = sent.Values()
		}
	}
	rows := make([]map[string]any, reflect.ValueOf(columns[0]).Len())
	for i := range rows {
		rows[i] = map[string]any{}
		for c, name := range names {
			rows[i][name] = reflect.ValueOf(columns[c]).Index(i).Interface()
		}
	}
	return rows
}

// Engines are a log, on an embedded broker in memory or as BrokersEnv says, and a
// database of this test alone.
type Engines struct {
	Brokers    []string
	Log        *eventlog.Log
	ClickHouse engine.Access
	Database   string
	Conn       driver.Conn
	Blocks     *native.Pool
}

// Start starts the engines; they end with the test. Topics of events have the
// given number of partitions.
func Start(t testing.TB, partitions int) *Engines {
	t.Helper()
	at, database := chtest.Database(t)
	return StartOn(t, partitions, at, database)
}

// StartOn is Start with a ClickHouse of the caller's.
func StartOn(t testing.TB, partitions int, at engine.Access, database string) *Engines {
	t.Helper()
	e := &Engines{Brokers: brokers(t), ClickHouse: at, Database: database}
	e.Log = e.Open(t, partitions)
	e.Conn, e.Blocks = Connect(t, at, database), Blocks(t, at, database)
	return e
}

// Open connects to the broker as one more process would.
func (e *Engines) Open(t testing.TB, partitions int) *eventlog.Log {
	t.Helper()
	log, err := eventlog.Open(context.Background(), eventlog.Config{
		Brokers: e.Brokers, Embedded: true, Partitions: partitions,
		SessionTimeout: time.Second, RebalanceTimeout: 10 * time.Second,
		Topics: []eventlog.Topic{{Name: eventlog.RejectionsTopic}},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = log.Close(ctx)
	})
	return log
}

// Connect opens a pool on one database.
func Connect(t testing.TB, at engine.Access, database string) driver.Conn {
	t.Helper()
	conn, err := clickhouse.Open(&clickhouse.Options{
		Addr: []string{at.Addr}, Auth: at.Auth(database), MaxOpenConns: 20, MaxIdleConns: 10,
		DialTimeout: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Blocks opens what inserts into one database.
func Blocks(t testing.TB, at engine.Access, database string) *native.Pool {
	pool := native.Open(native.Config{Addrs: []string{at.Addr}, Database: database, Username: at.User, Password: at.Password})
	t.Cleanup(pool.Close)
	return pool
}

// Append appends values to one partition as one request and returns the position
// after them.
func (e *Engines) Append(t testing.TB, topic string, partition int, project string, at time.Time, values ...string) eventlog.Position {
	t.Helper()
	set := eventlog.Set{Key: []byte(project), Time: at}
	_, _ = rand.Read(set.Batch[:])
	for _, v := range values {
		set.Values = append(set.Values, []byte(v))
	}
	first, err := e.Log.Append(t.Context(), topic, partition, set)
	if err != nil {
		t.Fatal(err)
	}
	return eventlog.Position{Topic: topic, Partition: partition, Next: first + int64(len(values))}
}
