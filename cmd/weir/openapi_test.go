package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-chi/chi/v5"

	"weir/internal/broker"
	"weir/openapi"
)

// startRoutes starts every role on an embedded log, with a ClickHouse that is away: routes need none.
func startRoutes(t *testing.T) *portal {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	b, err := broker.Start(t.Context(), broker.Config{Unsynced: true, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	var cli commands
	parser, err := kong.New(&cli, kong.Vars(defaultFolders()))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"serve", "--http", "127.0.0.1:0", "--data", t.TempDir(), "--kafka-brokers", b.Addrs()[0], "--clickhouse-addr", "127.0.0.1:1"}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	p := newPortal(&cli.Serve, &terminal{out: io.Discard, err: io.Discard}, quiet)
	t.Cleanup(func() { _ = p.stop() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.start(ctx); err != nil {
		t.Fatal(err)
	}
	return p
}

// described says which routes the document is about: the API and what operators ask, not the console's pages.
func described(path string) bool {
	return strings.HasPrefix(path, "/api/") || path == "/livez" || path == "/readyz" || path == "/metrics"
}

// TestOpenAPIAgreesWithRoutes walks the real router: every route is described, and everything described is there.
func TestOpenAPIAgreesWithRoutes(t *testing.T) {
	p := startRoutes(t)
	routes := map[string]bool{}
	err := chi.Walk(p.router, func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if described(path) {
			routes[method+" "+path] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	operations := map[string]bool{}
	for _, o := range openapi.Operations() {
		route := o.Method + " " + o.Path
		if operations[route] {
			t.Errorf("openapi/operations.go describes %s twice: remove one of the lines", route)
		}
		operations[route] = true
		if !routes[route] {
			t.Errorf("openapi/operations.go describes %s, but no role mounts that route: remove the line, or mount the route under exactly this pattern", route)
		}
	}
	for route := range routes {
		if method, path, _ := strings.Cut(route, " "); !operations[route] {
			t.Errorf("the route %s is not in the OpenAPI document.\n\tAdd this line to Operations in openapi/operations.go, beside its neighbours:\n\t"+
				"{%q, %q, Read, \"What it does.\", paged(), \"\", false, ok(\"Shape\"), nil},\n\t"+
				"with who may call it, its parameters, the shape of its body (\"\" for none), its answers and the problems worth telling;\n\t"+
				"shapes and parameters that are not there yet go into openapi/components.json, a line each.", route, method, path)
		}
	}
	res, err := http.Get(p.url() + "/api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/json" {
		t.Errorf("GET /api/openapi.json: %s, %s", res.Status, res.Header.Get("Content-Type"))
	}
}
