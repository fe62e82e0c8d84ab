package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir/internal/client"
)

type verifyCmd struct {
	remote
	Name string `arg:"" help:"Projection, as doctor lists them (history, errorgroups, …), or all."`
}

// verifyAll is the name that stands for every projection.
const verifyAll = "all"

func (c *verifyCmd) Run(ctx context.Context, t *terminal) error {
	server, err := c.admin()
	if err != nil {
		return err
	}
	names := []string{c.Name}
	if c.Name == verifyAll {
		names = nil
		for _, p := range allProjections() {
			names = append(names, p.Name)
		}
	}
	results := []verifyItem{}
	var wrong []string
	for _, name := range names {
		item, err := c.one(ctx, t, server, name)
		if err != nil {
			return fmt.Errorf("verify %s: %w", name, err)
		}
		results = append(results, item)
		if !item.Result.Equal {
			wrong = append(wrong, name)
		}
		if !c.JSON {
			item.print(t)
		}
	}
	if c.JSON {
		if err := t.json(map[string]any{"equal": len(wrong) == 0, "verifications": results}); err != nil {
			return err
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s: not what the log gives; `weir rebuild NAME --accept` fills new tables from the log", strings.Join(wrong, ", "))
	}
	return nil
}

func (c *verifyCmd) one(ctx context.Context, t *terminal, server *client.Client, name string) (verifyItem, error) {
	path := "/api/projections/" + url.PathEscape(name) + "/verify"
	var item verifyItem
	if err := server.Call(ctx, http.MethodPost, path, nil, nil, &item); err != nil {
		return item, err
	}
	show := newCounter(t, "verify "+name)
	defer show.done()
	poll := time.NewTicker(300 * time.Millisecond)
	defer poll.Stop()
	for item.State == "running" {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return item, ctx.Err()
		}
		if err := server.Call(ctx, http.MethodGet, path, nil, nil, &item); err != nil {
			return item, err
		}
		seconds := time.Since(item.StartedAt).Seconds()
		if rate := float64(item.Folded) / max(seconds, 0.1); rate > 0 {
			show.set(item.Folded, item.Of, rate, float64(item.Of-item.Folded)/rate)
		}
	}
	if item.State != "done" || item.Result == nil {
		return item, fmt.Errorf("it failed: %s", item.Failure)
	}
	return item, nil
}

func (v verifyItem) print(t *terminal) {
	r := v.Result
	if r.Equal {
		t.printf("%s: equal, generation %d, %d records at %s, %.1f s\n", r.Projection, r.Generation, r.Records, r.Position, r.Seconds)
		return
	}
	t.printf("%s: DIFFERENT, generation %d, %d records at %s\n", r.Projection, r.Generation, r.Records, r.Position)
	for _, d := range r.Differences {
		t.printf("  %s, project %s: %d rows in the tables, %d from the log\n", d.Table, d.Project, d.Live.Rows, d.Folded.Rows)
		for _, row := range d.Rows {
			t.printf("    %s: %v\n", row.Which, row.Key)
		}
	}
}
