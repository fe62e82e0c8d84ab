package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/child"
	"weir/internal/clickhouse/chtest"
	"weir/internal/client"
)

// TestMain fetches the engine ahead, as every test of the binary does.
func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

// patience bounds the start of the server and the browser's whole run.
const patience = 4 * time.Minute

// TestConsole runs browser.mjs against a server that holds a demo day and a project full of
// hostile events. With WEIR_CONSOLE_SHOTS=folder it leaves a picture of every page there.
func TestConsole(t *testing.T) {
	modules, err := tools(t)
	if err != nil {
		t.Skipf("left out: the console in a browser: %v", err)
	}
	s := serve(t)
	s.run("demo", "--server", s.url, "--data", s.data)
	hostile := s.hostile()
	s.node(modules, "WEIR_URL="+s.url, "WEIR_LINK="+s.link, "WEIR_TOKEN="+s.token(), "WEIR_HOSTILE="+hostile)
}

// portal is the real binary, serving.
type portal struct {
	t                       *testing.T
	binary, data, url, link string
}

func serve(t *testing.T) *portal {
	t.Helper()
	dir := t.TempDir()
	s := &portal{t: t, binary: filepath.Join(dir, "weir"), data: filepath.Join(dir, "data")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", s.binary, "./cmd/weir")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build ./cmd/weir: %v\n%s", err, out)
	}
	out := &output{serving: make(chan struct{})}
	cmd := exec.Command(s.binary, "serve", "--demo", "--data", s.data, "--http", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "INGEST_RATE_LIMIT_EVENTS_PER_SECOND=0", "WEIR_WEBHOOKS_ALLOW_CIDRS=127.0.0.0/8")
	cmd.Stdout, cmd.Stderr = out, out
	process, err := child.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			t.Logf("what the server said:\n%s", out.last(4000))
		}
	})
	select {
	case <-out.serving:
	case <-process.Ended():
		t.Fatalf("the server ended while starting: %v\n%s", process.Err(), out.last(4000))
	case <-time.After(patience):
		t.Fatalf("the server does not serve\n%s", out.last(4000))
	}
	s.url = servingLine.FindStringSubmatch(out.text())[1]
	s.link = linkLine.FindString(out.text())
	return s
}

var (
	servingLine = regexp.MustCompile(`msg=serving http=(http://\S+)`)
	linkLine    = regexp.MustCompile(`http://\S+/signin#link=\S+`)
)

func (s *portal) token() string {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.data, "admin.token"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

func (s *portal) run(args ...string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), s.binary, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("weir %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// hostile makes a project whose name and events are what nobody should send, and returns its id.
func (s *portal) hostile() string {
	s.t.Helper()
	var made struct {
		ProjectID     string `json:"project_id"`
		APIKey        string `json:"api_key"`
		WebhookSecret string `json:"webhook_secret"`
	}
	admin := client.New(s.url, s.token())
	if err := admin.Call(s.t.Context(), http.MethodPost, "/api/projects", nil, map[string]string{"name": `<img src=x onerror=alert(1)> & "shop"`}, &made); err != nil {
		s.t.Fatal(err)
	}
	sender := client.NewSender(client.New(s.url, made.APIKey), made.WebhookSecret)
	sender.Patience = patience
	for _, body := range hostileBodies(s.t) {
		receipt, err := sender.Send(s.t.Context(), body)
		if err != nil {
			s.t.Fatal(err)
		}
		if receipt.Accepted == 0 {
			s.t.Fatalf("no hostile event was taken: %+v", receipt.Rejected)
		}
	}
	return made.ProjectID
}

// node runs the browser's steps and prints what it says.
func (s *portal) node(modules string, env ...string) {
	s.t.Helper()
	script, err := filepath.Abs("browser.mjs")
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command("node", script)
	cmd.Dir = modules
	cmd.Env = append(append(os.Environ(), "WEIR_CHROMIUM="+chromium, "WEIR_MODULES="+filepath.Join(modules, "node_modules")), env...)
	var out output
	cmd.Stdout, cmd.Stderr = &out, &out
	process, err := child.Start(cmd)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(process.Kill)
	select {
	case <-process.Ended():
	case <-time.After(patience):
		process.Kill()
		s.t.Fatalf("the browser's steps take longer than %v:\n%s", patience, out.last(8000))
	}
	if err := process.Err(); err != nil {
		s.t.Fatalf("the browser's steps: %v\n%s", err, out.last(16000))
	}
	s.t.Logf("%s", out.last(8000))
}

// output gathers what a process prints and tells when it serves.
type output struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	serving chan struct{} // closed once; nil for who does not serve
	said    bool
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Write(p)
	if o.serving != nil && !o.said && servingLine.Match(o.buf.Bytes()) {
		close(o.serving)
		o.said = true
	}
	return len(p), nil
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func (o *output) last(n int) string {
	text := o.text()
	return text[max(0, len(text)-n):]
}

// hostileBodies put each hostile text into every field of every type, with one text of 1 MB.
func hostileBodies(t *testing.T) [][]byte {
	t.Helper()
	now := time.Now().UTC()
	texts := []string{
		`<script>window.pwned=1</script>`, `"><img src=x onerror="window.pwned=1">`, "javascript:alert(1)", "a\u202Etxt.exe\u202C b\u2066c", "\u0000\u0001\u001B[31m\u0007",
		"👩‍👩‍👧‍👦 🏳️‍🌈 ✅ 日本語 عربى", "{{constructor.constructor('window.pwned=1')()}}", strings.Repeat("wide", 400), "zero\u200Bwidth\uFEFF", "",
	}
	var bodies [][]byte
	for i, text := range texts {
		var events []any
		for kind, data := range everyField(text) {
			events = append(events, map[string]any{"type": kind, "ts": now.Add(-time.Duration(i+1) * time.Minute).Format(time.RFC3339Nano), "data": data})
		}
		bodies = append(bodies, encoded(t, events))
	}
	long := strings.Repeat("<b>1 MB</b> ", 1<<20/12)
	return append(bodies, encoded(t, []any{
		map[string]any{"type": "log", "ts": now.Format(time.RFC3339Nano), "data": map[string]any{"level": "error", "message": long}},
		map[string]any{"type": "error", "ts": now.Format(time.RFC3339Nano), "data": map[string]any{"name": "Long", "message": long, "stack": long}},
	}))
}

func encoded(t *testing.T, events []any) []byte {
	t.Helper()
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // the texts go as they are
	if err := enc.Encode(map[string]any{"events": events}); err != nil {
		t.Fatal(err)
	}
	return body.Bytes()
}

type fields = map[string]any

func everyField(x string) map[string]fields {
	deep := fields{x + "key": x, "nested": []any{nil, true, 1e300, fields{"<b>": x}}}
	return map[string]fields{
		"audit":        {"actor": x, "action": x, "resource": x, "method": x, "path": x, "statusCode": 500, "ip": x, "userAgent": x, "metadata": deep},
		"log":          {"level": x, "message": x, "module": x, "fields": deep},
		"deploy":       {"service": x, "version": x, "environment": x, "status": x, "commit": x},
		"repository":   {"provider": x, "repo": x, "branch": x, "commit": x, "author": x},
		"config":       {"path": x, "diff": "--- " + x + "\n+++ b\n@@ -1 +1 @@\n-" + x + "\n+" + x, "actor": x},
		"cost":         {"provider": x, "service": x, "region": x, "amount": 12.3, "currency": "EUR", "period": x},
		"performance":  {"service": x, "metric": x, "value": 12.5, "unit": x},
		"trace":        {"traceId": "hostile", "spanId": x, "parentSpanId": x, "serviceName": x, "name": x, "durationMs": 3},
		"error":        {"name": x, "message": x, "release": x, "environment": x, "service": x, "stack": x, "request": deep},
		"feature_flag": {"key": x, "enabled": true, "rollout": 5, "actor": x},
		"webhook":      {"destination": x, "url": x, "statusCode": 500, "attempt": 1},
		"tenant":       {"projectId": x, "plan": x, "ingestLimitPerSecond": 5},
		"video":        {"jobId": x, "targetUrl": x, "status": x, "artifactUrl": x},
	}
}
