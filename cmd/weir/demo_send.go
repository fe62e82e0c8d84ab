package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"weir/internal/client"
	"weir/internal/demo"
)

// demoCmd sends a made-up day, or several, so that every page of the console has something to show.
type demoCmd struct {
	remote
	Events  int    `help:"About how many events." default:"8000"`
	Days    int    `help:"Over how many days; the last one ends now." default:"1"`
	Seed    uint64 `help:"Another seed is another day." default:"1"`
	Project string `help:"Name of the project that is made when the data folder has no demo project." default:"demo"`
}

// demoResult is what weir demo --json prints.
type demoResult struct {
	ProjectID string  `json:"project_id"`
	Events    int     `json:"events"`
	Accepted  int     `json:"accepted"`
	Rejected  int     `json:"rejected"`
	Seconds   float64 `json:"seconds"`
	Position  string  `json:"position,omitempty"`
}

// demoBatch is how many events a batch has: small enough for several in each second of the limit.
const demoBatch = 250

// maxDemoDay bounds the events of one day, which is made in memory.
const maxDemoDay = 1_000_000

// Run sends the days, the oldest first.
func (c *demoCmd) Run(ctx context.Context, t *terminal) error {
	if c.Days < 1 || c.Days > 366 || c.Events < 1 || c.Events/c.Days > maxDemoDay {
		return usagef("--days must be between 1 and 366, --events at least 1 and at most %d a day", maxDemoDay)
	}
	project, err := c.project(ctx)
	if err != nil {
		return err
	}
	result := demoResult{ProjectID: project.ProjectID}
	began := time.Now()
	for i := range c.Days {
		o := demo.Options{End: began.AddDate(0, 0, i+1-c.Days), Events: c.Events / c.Days, Seed: c.Seed + uint64(i)}
		if i > 0 {
			o.CostDays = 1
		}
		if err := c.day(ctx, project, o, &result); err != nil {
			return err
		}
		if c.Days > 1 {
			t.notef("day %d of %d: %d events sent\n", i+1, c.Days, result.Accepted)
		}
	}
	result.Seconds = time.Since(began).Seconds()
	if c.JSON {
		return t.json(result)
	}
	days := "A day"
	if c.Days > 1 {
		days = fmt.Sprintf("%d days", c.Days)
	}
	t.printf("%s of %d events in project %s (%.1f s; %d rejected).\nLook at it: %s/?project=%s\n",
		days, result.Accepted, result.ProjectID, result.Seconds, result.Rejected, c.Server, result.ProjectID)
	return nil
}

// day makes and sends one day.
func (c *demoCmd) day(ctx context.Context, project created, o demo.Options, result *demoResult) error {
	events := demo.Make(o)
	bodies, err := demo.Bodies(events, demoBatch)
	if err != nil {
		return err
	}
	result.Events += len(events)
	return c.send(ctx, project, bodies, result)
}

// project is the demo project of the data folder, which serve --demo made, or a new one.
func (c *demoCmd) project(ctx context.Context) (created, error) {
	kept, err := readDemo(filepath.Join(c.Data, "demo.json"))
	if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, os.ErrNotExist) {
		return kept, err
	}
	if kept.APIKey != "" {
		return kept, nil
	}
	server, err := c.admin()
	if err != nil {
		return created{}, err
	}
	var made created
	err = server.Call(ctx, http.MethodPost, "/api/projects", nil, map[string]string{"name": c.Project}, &made)
	return made, err
}

func (c *demoCmd) send(ctx context.Context, project created, bodies [][]byte, result *demoResult) error {
	sender := client.NewSender(client.New(c.Server, project.APIKey), project.WebhookSecret)
	sender.Patience = 10 * time.Minute
	receipts := make([]client.Receipt, len(bodies))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i, body := range bodies {
		group.Go(func() (err error) {
			receipts[i], err = sender.Send(ctx, body)
			return err
		})
	}
	err := group.Wait()
	for _, r := range receipts {
		result.Accepted += r.Accepted
		result.Rejected += len(r.Rejected)
	}
	if n := len(receipts); n > 0 {
		result.Position = receipts[n-1].Position
	}
	return err
}
