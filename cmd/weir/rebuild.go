package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"weir/internal/client"
)

type rebuildCmd struct {
	remote
	Name     string `arg:"" help:"Projection, as doctor lists them: history, errorgroups, …"`
	Cancel   bool   `help:"Drop the generation that is being built." xor:"what"`
	Rollback bool   `help:"Bring the newest old generation back: it is caught up and takes the live one's place." xor:"what"`
	DropOld  bool   `help:"Drop the old generations that are kept for a rollback." xor:"what"`
	DryRun   bool   `help:"Say what a rebuild would read." xor:"what"`
	Accept   bool   `help:"Take the new tables even if they differ from the live ones."`
	NoWait   bool   `help:"Ask and return; do not follow until it is live."`
}

// rebuildResult is what the verb prints at the end with --json.
type rebuildResult struct {
	rebuildAnswer
	Live    bool    `json:"live"`
	Seconds float64 `json:"seconds"`
}

func (c *rebuildCmd) Run(ctx context.Context, t *terminal) error {
	server, err := c.admin()
	if err != nil {
		return err
	}
	began := time.Now()
	var a rebuildAnswer
	in := rebuildRequest{Action: c.action(), Accept: c.Accept}
	if err := server.Call(ctx, http.MethodPost, "/api/projections/"+url.PathEscape(c.Name)+"/rebuild", nil, in, &a); err != nil {
		return err
	}
	result := rebuildResult{rebuildAnswer: a}
	if (in.Action == rebuildStart || in.Action == rebuildRollback) && !c.NoWait {
		if err := c.follow(ctx, t, server, a.Generation); err != nil {
			return err
		}
		result.Live = true
	}
	result.Seconds = time.Since(began).Seconds()
	if c.JSON {
		return t.json(result)
	}
	result.print(t)
	return nil
}

func (c *rebuildCmd) action() string {
	switch {
	case c.Cancel:
		return rebuildCancel
	case c.Rollback:
		return rebuildRollback
	case c.DropOld:
		return rebuildDropOld
	case c.DryRun:
		return rebuildDryRun
	}
	return rebuildStart
}

func (r rebuildResult) print(t *terminal) {
	switch r.Action {
	case rebuildDryRun:
		t.printf("a rebuild of %s reads %d records of %d topics\n", r.Projection, r.Records, len(r.Topics))
	case rebuildDropOld:
		t.printf("dropped generations %v of %s\n", r.Dropped, r.Projection)
	case rebuildCancel:
		t.printf("canceled generation %d of %s\n", r.Generation, r.Projection)
	default:
		if r.Live {
			t.printf("generation %d of %s is live after %.1f s; `weir rebuild %s --rollback` brings the one before back, --drop-old drops it\n",
				r.Generation, r.Projection, r.Seconds, r.Projection)
			return
		}
		t.printf("generation %d of %s is being built; GET /api/projections tells how far\n", r.Generation, r.Projection)
	}
}

// follow shows the progress until the generation is live.
func (c *rebuildCmd) follow(ctx context.Context, t *terminal, server *client.Client, generation int) error {
	show := newCounter(t, "rebuild "+c.Name)
	defer show.done()
	poll := time.NewTicker(500 * time.Millisecond)
	defer poll.Stop()
	missed := 0
	for {
		item, err := findProjection(ctx, server, c.Name)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("no longer following; the rebuild goes on. `weir rebuild %s` follows again, --cancel ends it", c.Name)
		case err != nil:
			if missed++; missed > 60 {
				return err
			}
			show.note(err.Error())
		case item.Rebuild == nil && item.Generation == generation:
			return nil
		case item.Rebuild == nil:
			if missed++; missed > 20 { // it was just asked for, or just swapped: what is known is a poll or two old
				return fmt.Errorf("generation %d is no longer being built, and generation %d is live: it was canceled", generation, item.Generation)
			}
		case item.Rebuild.State == "differing" && !c.Accept: // accepted, what is known is a poll old
			return fmt.Errorf("the rebuilt tables differ from the live ones, so nothing was swapped: %s. Take them with `weir rebuild %s --accept`, or drop them with --cancel",
				item.Rebuild.WhatDiffers, c.Name)
		default:
			missed = 0
			show.set(item.Rebuild.Done, item.Rebuild.Total, item.Rebuild.PerSecond, item.Rebuild.SecondsLeft)
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
		}
	}
}

var errNoProjection = errors.New("no such projection")

func findProjection(ctx context.Context, server *client.Client, name string) (projectionItem, error) {
	items, err := listAll[projectionItem](ctx, server, "/api/projections", nil)
	if err != nil {
		return projectionItem{}, err
	}
	for _, item := range items {
		if item.Name == name {
			return item, nil
		}
	}
	return projectionItem{}, fmt.Errorf("%w: %s", errNoProjection, name)
}
