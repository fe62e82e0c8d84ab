package main

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"
)

type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Create an API key and print it, once."`
	List   keyListCmd   `cmd:"" help:"List a project's keys."`
	Revoke keyRevokeCmd `cmd:"" help:"Revoke a key: it is refused within a second."`
}

type keyCreateCmd struct {
	remote
	Project string   `required:"" help:"The project's id." placeholder:"prj_…"`
	Scopes  []string `help:"What the key may do: ingest, read, manage." default:"ingest,read,manage" enum:"ingest,read,manage"`
	Name    string   `help:"What the key is for."`
}

type key struct {
	ID        string     `json:"key_id"`
	Name      string     `json:"name,omitempty"`
	Scopes    []string   `json:"scopes"`
	CreatedAt time.Time  `json:"created_at"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
	APIKey    string     `json:"api_key,omitempty"`
}

func keysPath(project string) string {
	return "/api/projects/" + url.PathEscape(project) + "/keys"
}

func (c *keyCreateCmd) Run(ctx context.Context, t *terminal) error {
	server, err := c.admin()
	if err != nil {
		return err
	}
	in := map[string]any{"name": c.Name, "scopes": c.Scopes}
	var made key
	if err := server.Call(ctx, http.MethodPost, keysPath(c.Project), nil, in, &made); err != nil {
		return err
	}
	if c.JSON {
		return t.json(made)
	}
	t.printf("key id   %s\napi key  %s\nscopes   %s\n", made.ID, made.APIKey, strings.Join(made.Scopes, ","))
	t.notef("Keep the key now: it is not shown again.\n")
	return nil
}

type keyListCmd struct {
	remote
	Project string `required:"" help:"The project's id." placeholder:"prj_…"`
}

func (c *keyListCmd) Run(ctx context.Context, t *terminal) error {
	server, err := c.admin()
	if err != nil {
		return err
	}
	keys, err := listAll[key](ctx, server, keysPath(c.Project), nil)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(keys)
	}
	w := tabwriter.NewWriter(t.out, 0, 4, 2, ' ', 0)
	row(w, "KEY", "NAME", "SCOPES", "CREATED", "REVOKED")
	for _, k := range keys {
		revoked := "-"
		if k.RevokedAt != nil {
			revoked = k.RevokedAt.Format(time.RFC3339)
		}
		row(w, k.ID, k.Name, strings.Join(k.Scopes, ","), k.CreatedAt.Format(time.RFC3339), revoked)
	}
	return w.Flush()
}

type keyRevokeCmd struct {
	remote
	Project string `required:"" help:"The project's id." placeholder:"prj_…"`
	Key     string `arg:"" help:"The key's id, as key list shows it."`
}

func (c *keyRevokeCmd) Run(ctx context.Context, t *terminal) error {
	server, err := c.admin()
	if err != nil {
		return err
	}
	if err := server.Call(ctx, http.MethodDelete, keysPath(c.Project)+"/"+url.PathEscape(c.Key), nil, nil, nil); err != nil {
		return err
	}
	if c.JSON {
		return t.json(map[string]string{"revoked": c.Key})
	}
	t.printf("revoked %s\n", c.Key)
	return nil
}
