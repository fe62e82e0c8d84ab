package main

import (
	"context"
	"time"
)

// tablesPatience bounds the wait for the first tables: what takes longer is told by the status
// endpoints, and must not keep the rest of the server from saying that it serves.
const tablesPatience = 10 * time.Second

// awaitReadModels waits until the tables that this process makes are there, so that "serving"
// means reads too: at the first start on an empty folder they are made while the doors are open.
func (p *portal) awaitReadModels(ctx context.Context) error {
	if p.engine == nil || p.projector == nil || p.tables == nil {
		return nil // made elsewhere, or on a server that may be away: ingest does not wait for it
	}
	var names []string
	for _, projection := range p.projections() {
		for _, table := range projection.Tables {
			names = append(names, table.Name)
		}
	}
	patience, cancel := context.WithTimeout(ctx, tablesPatience)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		var there uint64
		err := p.tables.QueryRow(patience, "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name IN (?)", names).Scan(&there)
		if err == nil && there == uint64(len(names)) {
			return nil
		}
		select {
		case <-poll.C:
		case <-p.failed.Done():
			return context.Cause(p.failed)
		case <-patience.Done():
			if ctx.Err() == nil {
				p.logger.Warn("the read models are not all made yet; reads answer 503 until they are", "tables", there, "of", len(names), "error", err)
			}
			return ctx.Err()
		}
	}
}
