package main

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/projections"
	"weir/projections/errorgroups"
	"weir/projections/errorgroups/grouping"
	"weir/readmodel/tables"
)

// algorithmLook is how often it is looked under which algorithm the live groups are.
const algorithmLook = 5 * time.Second

// unknownAlgorithm says what is wrong with a number that is no version of the rules of grouping.
func unknownAlgorithm(number int) error {
	_, err := grouping.Lookup(number)
	return err
}

// algorithm is the version of the rules of grouping that this server is set to.
func (p *portal) algorithm() grouping.Version {
	chosen, err := grouping.Lookup(p.cfg.ErrorsAlgorithm)
	if err != nil { // the setting was checked
		panic(err)
	}
	return chosen
}

// startOlderAlgorithm keeps error groups folding under the algorithm that their live tables have,
// when that is another one of this binary's: the chosen one's tables are built beside them, which
// takes a while, and until they take the place the old ones should serve what arrives.
func (p *portal) startOlderAlgorithm(conn driver.Conn) {
	if len(grouping.Versions()) < 2 {
		return
	}
	p.run("older grouping algorithm", func(ctx context.Context) error {
		if !p.awaitDatabase(ctx) {
			return nil
		}
		for ctx.Err() == nil {
			if older, live := p.liveOlderAlgorithm(ctx, conn); live {
				p.foldOlderAlgorithm(ctx, conn, older)
			}
			select {
			case <-ctx.Done():
			case <-time.After(algorithmLook):
			}
		}
		return nil
	})
}

// liveOlderAlgorithm finds the fold that the live tables were made by, when it is not the chosen one.
func (p *portal) liveOlderAlgorithm(ctx context.Context, conn driver.Conn) (projections.Projection, bool) {
	var comment string
	err := conn.QueryRow(ctx, "SELECT any(comment) FROM system.tables WHERE database = currentDatabase() AND name = ?", tables.ErrorGroups().Name).Scan(&comment)
	if err != nil {
		return projections.Projection{}, false
	}
	live, err := tables.ParseComment(comment)
	if err != nil {
		return projections.Projection{}, false
	}
	for _, n := range grouping.Versions() {
		if n == p.cfg.ErrorsAlgorithm || errorgroups.Version(n) != live.Version {
			continue
		}
		if older, err := errorgroups.ProjectionUnder(n); err == nil {
			return older, true
		}
	}
	return projections.Projection{}, false
}

// foldOlderAlgorithm folds until the tables are of another version or ctx ends.
func (p *portal) foldOlderAlgorithm(ctx context.Context, conn driver.Conn, older projections.Projection) {
	blocks := openBlocks(p.clickHouse())
	defer blocks.Close()
	projector, err := projections.New(projections.Config{
		Log: p.log, ClickHouse: conn, Blocks: blocks, Projections: []projections.Projection{older},
		Tables: tables.Options{Fsync: p.engine != nil}, Logger: p.logger,
	})
	if err != nil {
		p.logger.Error("error groups are not folded until their new tables are ready", "error", err)
		return
	}
	p.logger.Info("error groups are folded under the older algorithm until the new one's tables are ready", "version", older.Version)
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = projector.Run(ctx)
	}()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(algorithmLook):
		}
		if now, live := p.liveOlderAlgorithm(ctx, conn); ctx.Err() == nil && (!live || now.Version != older.Version) {
			break
		}
	}
	stop()
	<-done
}
