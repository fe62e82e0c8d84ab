package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"weir/eventlog"
	"weir/internal/clickhouse"
	"weir/internal/httpapi"
	"weir/projections"
)

// projectionItem is one projection in GET /api/projections.
type projectionItem struct {
	projectionState
	Version    int             `json:"version"`
	Partitions []partitionItem `json:"partitions"`
	Rebuild    *rebuildItem    `json:"rebuild"` // null when none is under way
	Kept       []int           `json:"kept_generations"`
}

type partitionItem struct {
	Topic      string  `json:"topic"`
	Partition  int     `json:"partition"`
	Folded     int64   `json:"folded"` // offset after the last folded record
	End        int64   `json:"end"`    // offset after the last record of the log
	LagRecords int64   `json:"lag_records"`
	LagSeconds float64 `json:"lag_seconds"`
}

func (p *portal) getProjections(w http.ResponseWriter, _ *http.Request) {
	items := []projectionItem{}
	for _, projection := range p.projections() {
		progress, err := p.monitor.Progress(projection.Name)
		if err != nil {
			continue // not looked at yet
		}
		items = append(items, p.projectionItem(progress))
	}
	httpapi.WriteJSON(w, http.StatusOK, httpapi.NewPage(items, ""))
}

func (p *portal) projectionItem(progress projections.Progress) projectionItem {
	item := projectionItem{
		projectionState: projectionState{
			Name: progress.Projection, Status: string(p.health(progress.Projection, "", progress)),
			Generation: progress.Generation, LagRecords: progress.LagRecords, LagSeconds: progress.LagSeconds,
			Problem: p.problem(progress),
		},
		Version: progress.Version, Partitions: []partitionItem{},
		Rebuild: newRebuildItem(progress.Rebuild), Kept: append([]int{}, progress.Kept...),
	}
	for _, part := range progress.Partitions {
		item.Partitions = append(item.Partitions, partitionItem(part))
	}
	return item
}

func (p *portal) getDoctor(w http.ResponseWriter, r *http.Request) {
	missing := p.ready.missing()
	d := diagnosis{
		Version: version(), PID: os.Getpid(), StartedAt: p.started.UTC().Truncate(time.Second), HTTP: p.url(),
		Roles: p.cfg.Roles, Ready: len(missing) == 0, NotReady: missing,
		Log: p.diagnoseLog(), ClickHouse: p.diagnoseClickHouse(r.Context()), Projections: []projectionState{},
		Config: p.cfg.config(),
	}
	for _, projection := range p.projections() {
		if progress, err := p.monitor.Progress(projection.Name); err == nil {
			d.Projections = append(d.Projections, p.projectionItem(progress).projectionState)
		}
	}
	httpapi.WriteJSON(w, http.StatusOK, d)
}

func (p *portal) diagnoseLog() logDiagnosis {
	if len(p.cfg.KafkaBrokers) == 0 {
		return logDiagnosis{Kind: "embedded", Brokers: p.brokers, Room: room(p.embedded.Room()),
			Durability: "one copy, an fsync before each answer: survives a killed process and a power cut, not a lost disk"}
	}
	return logDiagnosis{Kind: "kafka", Brokers: p.brokers,
		Durability: "acks=all: survives what the replication of " + eventlog.ControlTopic + " and the events topics survives"}
}

func room(free, floor int64) string {
	text := fmt.Sprintf("%d MB of the disk are free; below %d MB nothing is accepted", free>>20, floor>>20)
	if free < floor {
		return text + ": make room"
	}
	return text
}

func (p *portal) diagnoseClickHouse(ctx context.Context) clickHouseReport {
	report := clickHouseReport{Kind: "server", Native: p.cfg.ClickHouseAddr, Access: "user " + p.cfg.ClickHouseUser,
		Durability: "as the server's replication and fsync settings say; the log can fold everything again"}
	if p.engine != nil {
		report = clickHouseReport{Kind: "embedded", Native: p.engine.NativeAddr(), HTTP: p.engine.HTTPAddr(),
			Access:     "user " + clickhouse.User + ", password in " + clickhouse.PasswordFile(p.dir.Path("clickhouse")),
			Durability: "one copy, an fsync for each block: survives a killed process and a power cut; a lost disk is folded again from the log"}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if v, err := p.tables.ServerVersion(); err == nil && ctx.Err() == nil {
		report.Version = v.Version.String()
	}
	return report
}
