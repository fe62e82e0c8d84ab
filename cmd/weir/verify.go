package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"weir/internal/client"
	"weir/projections"
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
			t.verification(item.Result)
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
	return awaitCheck[projections.Verification](ctx, t, server, "/api/projections/"+url.PathEscape(name)+"/verify", "verify "+name, nil)
}

func (t *terminal) verification(r *projections.Verification) {
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
