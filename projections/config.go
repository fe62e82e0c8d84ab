package projections

import (
	"errors"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"weir/eventlog"
	"weir/readmodel/tables"
)

// Limits and their reasons.
const (
	// blockRecords: past 50,000 rows an insert gets no cheaper per row.
	blockRecords = 50_000
	// blockBytes bounds the memory of one block; two per partition can be alive.
	blockBytes = 16 << 20
	// linger is the pace of blocks of a caught-up partition: four a second.
	linger = 250 * time.Millisecond
	// shortLinger is how long even the first block after a quiet time waits: the
	// records of one request arrive together.
	shortLinger = 5 * time.Millisecond
	// laggingLinger is the same while there is more in the log: fetches of other
	// partitions may have to be waited for, and small blocks cost more.
	laggingLinger = 2 * time.Second
	// liveFetch and laggingFetch are the bytes asked for in one fetch.
	liveFetch    = 256 << 10
	laggingFetch = 4 << 20
	// fetchedAhead bounds what all partitions together have fetched ahead of their
	// blocks: with many of them each asks for less, down to liveFetch.
	fetchedAhead = 128 << 20
	// fetchWait is how long the log may hold a fetch that finds nothing.
	fetchWait = 2 * time.Second
	// turnsAtOnce bounds the memory of all lagging partitions together: each turn
	// is a block, as fetched and as columns, and what is fetched ahead, some 48 MiB.
	turnsAtOnce = 4
	// insertsAtOnce bounds what ClickHouse has to do at a time.
	insertsAtOnce = 4
	// membershipAge is how old a proof of ownership may be before an insert.
	membershipAge = time.Second
	// holdPoll is how often a projector looks whether it is to step aside.
	holdPoll = 250 * time.Millisecond
	// quietRetry is how often it looks whether there is something to do.
	quietRetry = 300 * time.Millisecond
	// haltedRetry is how often something halted is looked at again.
	haltedRetry = 30 * time.Second
)

// Config is what a Projector works with. Log, ClickHouse, Blocks and Projections are
// required; zero values of the rest are sane defaults.
type Config struct {
	Log *eventlog.Log
	// ClickHouse is a pool on the database of the read models, for everything
	// but inserts, which go through Blocks to the same database.
	ClickHouse  driver.Conn
	Blocks      Inserter
	Projections []Projection
	// Tables are the settings of the tables the projector makes.
	Tables tables.Options

	BlockRecords int           // most records in a block, about (50,000)
	BlockBytes   int           // most bytes of records in a block, about (16 MiB)
	Linger       time.Duration // least time from block to block of a caught-up partition (250 ms)
	Turns        int           // blocks of lagging partitions, of all projections, filled or written at once (4)
	Inserts      int           // inserts at once (4)

	Logger     *slog.Logger
	Registerer prometheus.Registerer // nil registers none
}

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Log == nil:
		return c, errors.New("a projector needs a log")
	case c.ClickHouse == nil:
		return c, errors.New("a projector needs a ClickHouse connection")
	case c.Blocks == nil:
		return c, errors.New("a projector needs an inserter of blocks")
	case len(c.Projections) == 0:
		return c, errors.New("a projector needs projections")
	}
	c.Tables.Fence = true
	c.BlockRecords = or(c.BlockRecords, blockRecords)
	c.BlockBytes = or(c.BlockBytes, blockBytes)
	c.Linger = or(c.Linger, linger)
	c.Turns = or(c.Turns, turnsAtOnce)
	c.Inserts = or(c.Inserts, insertsAtOnce)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
