package main

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"weir/internal/clickhouse"
)

func init() { clickhouse.RunChildIfAsked() } // the test binary is also what runs as the engine's child

// example is a running server with a demo project, as `weir serve --demo` makes it.
type example struct {
	url  string
	demo created
}

func startExample(t *testing.T) example {
	t.Helper()
	var cli commands
	parser, err := kong.New(&cli, kong.Vars(defaultFolders()))
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	if _, err := parser.Parse([]string{"serve", "--demo", "--http", "127.0.0.1:0", "--data", data}); err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	server := newPortal(&cli.Serve, &terminal{out: io.Discard, err: t.Output()}, logger)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute) // a first run fetches the engine
	defer cancel()
	t.Cleanup(func() {
		if err := server.stop(); err != nil {
			t.Error(err)
		}
	})
	if err := server.start(ctx); err != nil {
		t.Fatal(err)
	}
	e := example{url: server.url()}
	raw, err := os.ReadFile(filepath.Join(data, "demo.json"))
	if err == nil {
		err = json.Unmarshal(raw, &e.demo)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (e example) get(t *testing.T, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+e.demo.APIKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func TestDocsOnARunningServer(t *testing.T) {
	e := startExample(t)
	t.Run("examples", func(t *testing.T) { testExamples(t, e) })
	t.Run("reads", func(t *testing.T) { testReads(t, e) })
	t.Run("metrics", func(t *testing.T) { testMetrics(t, e) })
}

// languages are the fenced blocks of docs/api.md and how each is run.
var languages = []struct{ fence, file, program string }{
	{"sh", "example.sh", "bash"},
	{"go", "example.go", "go run"},
	{"ts", "example.mjs", "node"},
	{"python", "example.py", "python3"},
}

func testExamples(t *testing.T, e example) {
	page := readPage(t, apiPage)
	for _, l := range languages {
		_, rest, found := strings.Cut(page, "\n```"+l.fence+"\n")
		code, _, ended := strings.Cut(rest, "\n```\n")
		if !found || !ended {
			t.Errorf("docs/api.md has no example in %s", l.fence)
			continue
		}
		command := strings.Fields(l.program)
		if _, err := exec.LookPath(command[0]); err != nil {
			t.Logf("left out: the example in %s, because there is no %s here", l.fence, command[0])
			continue
		}
		path := filepath.Join(t.TempDir(), l.file)
		if err := os.WriteFile(path, []byte(code+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], path)...)
		cmd.Env = append(os.Environ(), "WEIR_URL="+e.url, "WEIR_API_KEY="+e.demo.APIKey, "WEIR_WEBHOOK_SECRET="+e.demo.WebhookSecret)
		out, err := cmd.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != `{"accepted":1,"rejected":[]}` {
			t.Errorf("the example in %s: %v: %s", l.fence, err, out)
		}
	}
}

// testReads asks every read endpoint that the page names for its default page.
func testReads(t *testing.T, e example) {
	page := readPage(t, apiPage)
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile("`GET (/[a-z/]+)`").FindAllStringSubmatch(page, -1) {
		path := m[1]
		if seen[path] || strings.HasSuffix(path, "/tail") {
			continue
		}
		seen[path] = true
		status, body := e.get(t, path)
		admin := slices.Contains([]string{"/api/projects", "/api/projections", "/api/doctor", "/api/errors/preview"}, path)
		if want := map[bool]int{true: 403, false: 200}[admin]; status != want {
			t.Errorf("GET %s: %d %s", path, status, body)
		}
	}
	if len(seen) < 8 {
		t.Errorf("only %d read endpoints found in docs/api.md", len(seen))
	}
}

var metricName = regexp.MustCompile(`\bweir_[a-z]+_[a-z_]+[a-z]\b`)

// testMetrics compares the page, the alerts and the dashboard with what the server and the source name.
func testMetrics(t *testing.T, e example) {
	_, scraped := e.get(t, "/metrics")
	real := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (weir_\S+)`).FindAllStringSubmatch(scraped, -1) {
		real[m[1]] = true
	}
	if len(real) < 20 {
		t.Fatalf("only %d metrics scraped", len(real))
	}
	for _, name := range sourceMetrics(t) { // those that have no value yet, too
		real[name] = true
	}
	page := readPage(t, operationsPage)
	for name := range real {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/operations.md does not list the metric %s", name)
		}
	}
	for _, file := range append(deployed(t), operationsPage) {
		for _, name := range metricName.FindAllString(readPage(t, file), -1) {
			base := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
			if !real[name] && !real[base] {
				t.Errorf("%s names the metric %s, which there is not", file, name)
			}
		}
	}
}

// deployed are the files of deploy/ that name metrics.
func deployed(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir("../../deploy", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && slices.Contains([]string{".json", ".yml", ".yaml"}, filepath.Ext(path)) {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("deploy/: %d files, %v", len(files), err)
	}
	return files
}

// sourceMetrics are the metrics that the source spells out.
func sourceMetrics(t *testing.T) []string {
	t.Helper()
	var names []string
	pattern := regexp.MustCompile(`Name:\s+"(weir_[a-z_]+)"`)
	folding := regexp.MustCompile(`\b(?:counter|gauge)\("([a-z_]+)"`) // namespace and subsystem stand apart there
	eachSource(t, func(path string, source []byte) {
		for _, m := range pattern.FindAllSubmatch(source, -1) {
			names = append(names, string(m[1]))
		}
		if !strings.HasPrefix(path, "../../projections/") {
			return
		}
		for _, m := range folding.FindAllSubmatch(source, -1) {
			names = append(names, "weir_fold_"+string(m[1]))
		}
	})
	return names
}
