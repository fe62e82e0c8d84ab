package main

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/internal/native"
	"weir/projections"
	"weir/projections/costs"
	"weir/projections/deliveries"
	"weir/projections/errorgroups"
	"weir/projections/errorgroups/grouping"
	"weir/projections/history"
	"weir/projections/performance"
	"weir/projections/rejections"
	"weir/projections/triage"
	"weir/readmodel"
)

// allProjections are the read models there are; error groups by the default algorithm.
func allProjections() []projections.Projection { return projectionsUnder(grouping.Algorithm) }

// projections are the read models of this server.
func (p *portal) projections() []projections.Projection {
	return projectionsUnder(p.cfg.ErrorsAlgorithm)
}

func projectionsUnder(algorithm int) []projections.Projection {
	groups, err := errorgroups.ProjectionUnder(algorithm)
	if err != nil { // the setting was checked
		panic(err)
	}
	return []projections.Projection{
		history.Projection(), groups, deliveries.Projection(), costs.Projection(), performance.Projection(),
		rejections.Projection(), triage.Projection(),
	}
}

// projectorConns is enough for the inserts that run at once and the questions beside them.
const projectorConns = 16

// startProject runs the projector of every read model.
func (p *portal) startProject() error {
	conn, err := p.patientPool(projectorConns, projections.AnswerTimeout)
	if err != nil {
		return err
	}
	projector, err := projections.New(projections.Config{
		Log: p.log, ClickHouse: conn, Blocks: p.blockPool(), Projections: p.projections(),
		Tables: p.tableOptions(),
		Logger: p.logger, Registerer: p.registry,
	})
	if err != nil {
		return err
	}
	p.projector = projector
	p.startTenants()
	p.startOlderAlgorithm(conn)
	p.run("projector", func(ctx context.Context) error {
		if !p.awaitDatabase(ctx) {
			return nil
		}
		return projector.Run(ctx)
	})
	return p.startGroupLists()
}

// pool opens connections to the read models' database. A server that is away is no error here:
// whoever uses the pool tries again, and ingest goes on.
func (p *portal) pool(conns int) (driver.Conn, error) { return p.patientPool(conns, 0) }

// patientPool is pool with a time that an answer may take; 0 is what a query of a reader may.
func (p *portal) patientPool(conns int, readTimeout time.Duration) (driver.Conn, error) {
	at := p.clickHouse()
	at.MaxConns, at.ReadTimeout = conns, readTimeout
	conn, err := readmodel.Connect(at)
	if err != nil {
		return nil, err
	}
	p.parts.Push("clickhouse connections", func(context.Context) error { return conn.Close() })
	return conn, nil
}

// blockPool inserts blocks into the read models' database.
func (p *portal) blockPool() *native.Pool {
	pool := openBlocks(p.clickHouse())
	p.parts.Push("clickhouse inserts", func(context.Context) error { pool.Close(); return nil })
	return pool
}

func openBlocks(at readmodel.ConnectConfig) *native.Pool {
	return native.Open(native.Config{Addrs: at.Addrs, Database: at.Database, Username: at.Username, Password: at.Password, TLS: at.TLS, Dial: at.Dial})
}

// awaitDatabase makes the database and tries until ClickHouse has taken it; false when ctx ended first.
func (p *portal) awaitDatabase(ctx context.Context) bool {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := p.makeDatabase(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() == nil {
			p.logger.Warn("the read models' database cannot be made yet; trying again", "clickhouse", p.clickHouse().Addrs, "error", err)
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}

// makeDatabase uses a connection of its own: one on a database that is not there yet is refused.
func (p *portal) makeDatabase(ctx context.Context) error {
	at := p.clickHouse()
	conn, err := clickhouse.Open(&clickhouse.Options{
		Addr: at.Addrs, DialTimeout: 2 * time.Second,
		Auth: clickhouse.Auth{Database: "default", Username: at.Username, Password: at.Password}, TLS: at.TLS,
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Exec(ctx, "CREATE DATABASE IF NOT EXISTS `"+at.Database+"`") // the name was checked: letters, digits, _
}
