package main

import (
	"context"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/control"
	"weir/internal/httpapi"
	"weir/projections"
	"weir/readmodel"
)

// readConns is enough for the queries that run at once, and for what else asks ClickHouse here,
// which must not wait behind readers.
const (
	readConns   = 16
	readQueries = readConns - 4
)

// startRead wires the read endpoints, the projects and keys, and what the admin asks.
func (p *portal) startRead(r chi.Router) error {
	conn, err := p.pool(readConns)
	if err != nil {
		return err
	}
	p.tables = conn
	p.monitor = projections.NewMonitor(p.log, conn, p.projections(), p.logger, p.registry)
	p.run("monitor", p.monitor.Run)
	p.run("shared tables", p.makeShared)
	if err := p.startAudit(); err != nil {
		return err
	}

	reader := readmodel.New(readmodel.Config{
		Conn:    conn,
		Auth:    p.directory,
		Waiter:  p.monitor,
		Modules: modules{p},
		Projects: func(id string) bool {
			_, known := p.directory.Project(id)
			return known
		},
		Generation: p.liveGeneration,
		HistoryLag: p.historyLag,
		MaxQueries: readQueries,
		Logger:     p.logger,
		Registerer: p.registry,
	})
	reader.Routes(r)
	p.drain = append(p.drain, reader.Close) // tails would hold the shutdown up

	control.NewCommands(p.directory).Routes(r)
	p.startTriage(r, reader)
	if err := p.webhookRoutes(r, reader); err != nil {
		return err
	}
	if err := p.startConsole(r); err != nil {
		return err
	}

	var failed error
	r.Group(func(r chi.Router) {
		r.Use(httpapi.RequireAdmin(p.directory))
		failed = p.projectionRoutes(r)
		r.Get("/api/projections", p.getProjections)
		r.Get("/api/doctor", p.getDoctor)
		r.Get("/api/errors/preview", p.getPreview)
	})
	return failed
}

// makeShared makes the tables that all projections share: a reader that was upgraded first
// must not wait for a projector of its version. Once is enough; without a database yet, it is a
// projector of this version that makes them.
func (p *portal) makeShared(ctx context.Context) error {
	wait := time.NewTicker(time.Second)
	defer wait.Stop()
	for {
		if projections.MakeShared(ctx, p.tables, p.tableOptions()) == nil {
			return nil
		}
		select {
		case <-wait.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// historyLag tells tails how far back they must look for rows that come late; false: not known.
func (p *portal) historyLag() (time.Duration, bool) {
	progress, err := p.monitor.Progress(readmodel.History)
	if err != nil || progress.Problem != "" {
		return 0, false
	}
	return time.Duration(progress.LagSeconds * float64(time.Second)), true
}

// liveGeneration is that of a projection's live tables, as of the monitor's last look.
func (p *portal) liveGeneration(name string) (int, bool) {
	for _, projection := range p.projections() {
		if projection.Name == name {
			progress, err := p.monitor.Progress(name)
			if err != nil {
				return 0, true // not looked at yet
			}
			return progress.Generation, true
		}
	}
	return 0, false
}
