package main

import (
	"context"
	"net/http"
	"text/tabwriter"
	"time"
)

type projectCmd struct {
	Create projectCreateCmd `cmd:"" help:"Create a project and print its first key and its webhook secret, once."`
	List   projectListCmd   `cmd:"" help:"List projects."`
}

type projectCreateCmd struct {
	remote
	Name string `arg:"" help:"The project's name."`
}

// created is printed by --json, on one line.
type created struct {
	ProjectID     string `json:"project_id"`
	APIKey        string `json:"api_key"`
	WebhookSecret string `json:"webhook_secret"`
}

func (c *projectCreateCmd) Run(ctx context.Context, t *terminal) error {
	server, err := c.admin()
	if err != nil {
		return err
	}
	var made created
	if err := server.Call(ctx, http.MethodPost, "/api/projects", nil, map[string]string{"name": c.Name}, &made); err != nil {
		return err
	}
	if c.JSON {
		return t.json(made)
	}
	t.printf("project         %s\napi key         %s\nwebhook secret  %s\n", made.ProjectID, made.APIKey, made.WebhookSecret)
	t.notef("Keep the key and the secret now: they are not shown again.\n")
	return nil
}

type projectListCmd struct{ remote }

func (c *projectListCmd) Run(ctx context.Context, t *terminal) error {
	server, err := c.admin()
	if err != nil {
		return err
	}
	type project struct {
		ID        string    `json:"project_id"`
		Name      string    `json:"name"`
		CreatedAt time.Time `json:"created_at"`
	}
	projects, err := listAll[project](ctx, server, "/api/projects", nil)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(projects)
	}
	w := tabwriter.NewWriter(t.out, 0, 4, 2, ' ', 0)
	row(w, "PROJECT", "NAME", "CREATED")
	for _, p := range projects {
		row(w, p.ID, p.Name, p.CreatedAt.Format(time.RFC3339))
	}
	return w.Flush()
}
