package readmodel

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Conn runs queries: the part of a clickhouse-go connection this package uses.
// It must be safe for concurrent use.
type Conn interface {
	Query(ctx context.Context, query string, args ...any) (driver.Rows, error)
}

// ConnectConfig says where ClickHouse is.
type ConnectConfig struct {
	Addrs    []string // host:port of the native protocol
	Database string
	Username string // empty: the server's default user
	Password string
	TLS      *tls.Config // nil is none
	MaxConns int         // queries at once; 0 means 8
	// ReadTimeout is how long an answer may keep silent; 0 means a little more
	// than any query of this package may take.
	ReadTimeout time.Duration
	// Dial replaces the network dial, for an engine whose address changes when it restarts; nil: plain TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
}

// Connect opens the pool that the read endpoints use. It does not wait for
// ClickHouse: an engine that is down shows when a query runs. The caller closes it.
func Connect(cfg ConnectConfig) (driver.Conn, error) {
	if cfg.MaxConns == 0 {
		cfg.MaxConns = 8
	}
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = queryTime + 5*time.Second
	}
	conn, err := clickhouse.Open(&clickhouse.Options{
		Protocol:         clickhouse.Native,
		Addr:             cfg.Addrs,
		Auth:             clickhouse.Auth{Database: cfg.Database, Username: cfg.Username, Password: cfg.Password},
		TLS:              cfg.TLS,
		DialContext:      cfg.Dial,
		DialTimeout:      2 * time.Second,
		ReadTimeout:      cfg.ReadTimeout,
		MaxOpenConns:     cfg.MaxConns,
		MaxIdleConns:     cfg.MaxConns,
		ConnMaxLifetime:  10 * time.Minute,
		ConnOpenStrategy: clickhouse.ConnOpenInOrder,
		Compression:      &clickhouse.Compression{Method: clickhouse.CompressionNone}, // costs more than it saves on a near network
		BlockBufferSize:  2,
	})
	if err != nil {
		return nil, fmt.Errorf("open ClickHouse pool at %v: %w", cfg.Addrs, err)
	}
	return conn, nil
}

// queryTime bounds one query, and all queries of one request together.
const queryTime = 10 * time.Second

// maxResultRows is more than any query here can give: a histogram has at most
// maxBuckets times the number of event types.
const maxResultRows = 50_000

// querySettings are sent with every query, so that nothing depends on how the
// server was configured.
func querySettings() clickhouse.Settings {
	return clickhouse.Settings{
		"readonly":              1,
		"max_execution_time":    int(queryTime / time.Second),
		"timeout_overflow_mode": "throw",
		"max_result_rows":       maxResultRows,
		"result_overflow_mode":  "throw",
		"max_memory_usage":      2 << 30,
		"max_threads":           4,
		"log_queries":           0,
		"use_query_cache":       0,
		"priority":              1, // people go before the making of lists, which has 10
		// The other JSON parser gives up on a whole document for one integer beyond 64 bits, which clients do send.
		"allow_simdjson": 0,
		// Lazy evaluation would cut the same field out of data once per use: three times the work of a filter.
		"short_circuit_function_evaluation": "disable",
		"optimize_read_in_order":            1,
		"prefer_column_name_to_alias":       1,
		"join_use_nulls":                    0,
		"session_timezone":                  "UTC",
		// Short reads, of which nearly all here are, pay for these and have nothing of them: counters sent with each
		// answer, a timer in each thread for samples of stacks, machine code for expressions over a few rows.
		"send_profile_events":                0,
		"query_profiler_real_time_period_ns": 0,
		"query_profiler_cpu_time_period_ns":  0,
		"compile_expressions":                0,
		"compile_aggregate_expressions":      0,
		"compile_sort_description":           0,
	}
}
