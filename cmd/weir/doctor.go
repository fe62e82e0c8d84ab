package main

import (
	"context"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"text/tabwriter"
	"time"
)

type doctorCmd struct{ remote }

// diagnosis is what a server says of itself at GET /api/doctor (admin only). It holds no secret.
type diagnosis struct {
	Version     string            `json:"version"`
	PID         int               `json:"pid"`
	StartedAt   time.Time         `json:"started_at"`
	HTTP        string            `json:"http"`
	Roles       []string          `json:"roles"`
	Ready       bool              `json:"ready"`
	NotReady    []string          `json:"not_ready,omitempty"`
	Log         logDiagnosis      `json:"log"`
	ClickHouse  clickHouseReport  `json:"clickhouse"`
	Projections []projectionState `json:"projections"`
	Config      map[string]string `json:"config"`
}

type logDiagnosis struct {
	Kind       string   `json:"kind"` // embedded or kafka
	Brokers    []string `json:"brokers"`
	Durability string   `json:"durability"`
	Room       string   `json:"room,omitempty"` // on the disk of an embedded log
}

type clickHouseReport struct {
	Kind       string `json:"kind"` // embedded, server or none
	Native     string `json:"native"`
	HTTP       string `json:"http"`
	Access     string `json:"access"` // who may connect; never a password
	Version    string `json:"version"`
	Durability string `json:"durability"`
}

type projectionState struct {
	Name       string  `json:"name"`
	Status     string  `json:"status"`
	Generation int     `json:"generation"`
	LagRecords int64   `json:"lag_records"`
	LagSeconds float64 `json:"lag_seconds"`
	Problem    string  `json:"problem,omitempty"` // why it does not go on, and what to do
}

func (c *doctorCmd) Run(ctx context.Context, t *terminal) error {
	server, err := c.admin()
	if err != nil {
		return err
	}
	var d diagnosis
	if err := server.Call(ctx, http.MethodGet, "/api/doctor", nil, nil, &d); err != nil {
		return err
	}
	if c.JSON {
		return t.json(d)
	}
	d.print(t)
	if !d.Ready {
		return fmt.Errorf("the server is not ready: %s", strings.Join(d.NotReady, ", "))
	}
	return nil
}

func (d *diagnosis) print(t *terminal) {
	w := tabwriter.NewWriter(t.out, 0, 4, 2, ' ', 0)
	row(w, "weir", fmt.Sprintf("%s, process %d, up %v, roles %s", d.Version, d.PID, time.Since(d.StartedAt).Round(time.Second), strings.Join(d.Roles, ",")))
	row(w, "http", d.HTTP)
	row(w, "log", d.Log.Kind+" at "+strings.Join(d.Log.Brokers, ","))
	row(w, "", d.Log.Durability)
	if d.Log.Room != "" {
		row(w, "", d.Log.Room)
	}
	row(w, "clickhouse", fmt.Sprintf("%s %s at %s (native), %s (http)", d.ClickHouse.Kind, d.ClickHouse.Version, d.ClickHouse.Native, d.ClickHouse.HTTP))
	row(w, "", d.ClickHouse.Access)
	row(w, "", d.ClickHouse.Durability)
	for _, p := range d.Projections {
		row(w, "projection "+p.Name, fmt.Sprintf("%s, generation %d, %d records (%.1f s) behind", p.Status, p.Generation, p.LagRecords, p.LagSeconds))
		if p.Problem != "" {
			row(w, "", p.Problem)
		}
	}
	names := make([]string, 0, len(d.Config))
	for name := range d.Config {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		row(w, name, d.Config[name])
	}
	_ = w.Flush()
}
