package readmodel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// lists are the endpoints that read one project; resources those that read one thing by its id.
var (
	lists = []string{"/api/events", "/api/events/histogram", "/api/events/tail", "/api/performance/series",
		"/api/errors/groups", "/api/webhooks/deliveries", "/api/cost/rollups"}
	resources = []string{"/api/errors/groups/" + strings.Repeat("0", 32), "/api/webhooks/deliveries/x", "/api/trace/x"}
)

func TestProjectsAreWalls(t *testing.T) {
	p := newPortal(t, func(c *Config) { c.Projects = func(id string) bool { return id != "prj_none" } })
	for _, path := range append(append([]string{}, lists...), resources...) {
		p.problem("", path, 401, "unauthorized")
		p.problem("nobody", path, 401, "unauthorized")
		p.problem("writer", path, 403, "forbidden")
		p.problem("one", path+"?project_id=prj_two", 404, "not_found")
		p.problem("one", path+"?project_id=prj_one&project_id=prj_two", 400, "invalid_parameter")
		p.problem("admin", path+"?project_id=prj_none", 404, "not_found")
	}
	for _, path := range lists {
		if detail := p.problem("admin", path, 400, "invalid_parameter"); !strings.Contains(detail, "project_id") {
			t.Errorf("%s: %s", path, detail)
		}
	}
	p.events(row{data: `{"message":"secret of two"}`, project: "prj_two"})
	if got := items(p.get("one", "/api/events?q=secret")); len(got) != 0 {
		t.Errorf("foreign rows: %v", got)
	}
	if got := items(p.get("admin", "/api/events?project_id=prj_two&q=secret")); len(got) != 1 {
		t.Errorf("the admin reads every project: %v", got)
	}
}

func TestBadParametersAreNamed(t *testing.T) {
	p := newPortal(t)
	tests := []struct{ path, names, allowed string }{
		{"/api/events?tpye=log", "tpye", "type"},
		{"/api/events?type=logs", "type", "feature_flag"},
		{"/api/events?type=log&type=error", "type", "twice"},
		{"/api/events?limit=0", "limit", "1 to 200"},
		{"/api/events?limit=201", "limit", `"201"`},
		{"/api/events?limit=abc", "limit", "whole number"},
		{"/api/events?limit=99999999999999999999", "limit", "1 to 200"},
		{"/api/events?from=yesterday", "from", "RFC 3339"},
		{"/api/events?from=2026-11-20T12:00:00Z&to=2026-11-20T12:00:00Z", "to", "later than from"},
		{"/api/events?from=9999-01-01T00:00:00Z", "from", "1970 to 2200"},
		{"/api/events?q=" + strings.Repeat("x", 300), "q", "256"},
		{"/api/events?q=%ff%fe", "q", "UTF-8"},
		{"/api/events?q=%zz", "query", "percent-encode"},
		{"/api/events?%ff=1", "\uFFFD", "unknown"},
		{"/api/events?where=level", "where", "operators"},
		{"/api/events?where==1", "where", "operators"},
		{"/api/events?where=a..b=1", "where", "operators"},
		{"/api/events?where=" + url.QueryEscape(`"a=1`), "where", "JSON string"},
		{"/api/events?where=" + url.QueryEscape(`a="x`), "where", "JSON string"},
		{"/api/events?where=" + strings.Repeat("a.", 20) + "a=1", "where", "16 names"},
		{"/api/events?where=a=" + strings.Repeat("x", 2000), "where", "1024 bytes"},
		{"/api/events?" + strings.Repeat("where=a=1&", 11), "where", "10 filters"},
		{"/api/events?cursor=!!", "cursor", "next_cursor"},
		{"/api/events?cursor=e30", "cursor", "next_cursor"},
		{"/api/events/histogram?interval=0s", "interval", "30s, 5m, 1h, 7d"},
		{"/api/events/histogram?interval=999999999d", "interval", "36500d"},
		{"/api/events/histogram?buckets=501", "buckets", "1 to 500"},
		{"/api/errors/groups?status=open", "status", "unresolved, regressed"},
		{"/api/errors/groups?sort=name", "sort", "last_seen, first_seen, count"},
		{"/api/errors/groups?order=up", "order", "desc, asc"},
		{"/api/errors/groups?release=" + strings.Repeat("x", 300), "release", "256"},
		{"/api/webhooks/deliveries?status=sent", "status", "pending"},
		{"/api/cost/rollups?interval=year", "interval", "day, month"},
		{"/api/cost/rollups?group_by=provider,sku", "group_by", "provider, service, region"},
		{"/api/cost/rollups?from=2026-13", "from", "2026-11"},
		{"/api/cost/rollups?from=2026-11&to=2026-11", "to", "later"},
		{"/api/events/tail?last_event_id=x", "last_event_id", "last one received"},
		{"/api/events/tail?limit=5", "limit", "unknown"},
		{"/api/trace/x?from=2026-11-20T12:00:00Z", "from", "unknown"},
	}
	for _, tt := range tests {
		detail := p.problem("one", tt.path, 400, "invalid_parameter")
		if !strings.HasPrefix(detail, tt.names+": ") || !strings.Contains(detail, tt.allowed) {
			t.Errorf("%s: %s", tt.path, detail)
		}
	}
}

// TestACursorFitsOnlyItsList refuses cursors of other filters, lists and orders.
func TestACursorFitsOnlyItsList(t *testing.T) {
	p := newPortal(t)
	p.events(row{}, row{}, row{})
	cursor := p.get("one", "/api/events?limit=1")["next_cursor"].(string)
	p.get("one", "/api/events?project_id=prj_one&limit=2&cursor="+cursor)
	for _, path := range []string{"/api/events?type=log&cursor=", "/api/events?q=x&cursor=", "/api/errors/groups?cursor=",
		"/api/webhooks/deliveries?cursor=", "/api/cost/rollups?cursor=", "/api/trace/x?cursor="} {
		p.problem("one", path+cursor, 400, "invalid_parameter")
	}
	p.problem("two", "/api/events?cursor="+cursor, 400, "invalid_parameter")
}

// TestHostileValuesAreValues sends what would be harmful as text of a statement; rows must come out unharmed.
func TestHostileValuesAreValues(t *testing.T) {
	p := newPortal(t)
	hostile := []string{"'", `\`, `\'`, "''", `"`, "`", "';DROP TABLE events;--", `\'; DROP TABLE events; --`, "' OR 1=1 --", "{p0:String}",
		"{p1:Identifier}", "%", "_", "\x00", "a\x00b", "\t\n\r\b", `\N`, "NULL", "$1", "@x", "?", "/*", "--", "#", "😀", "\u202e", "\u2028", strings.Repeat("'", 200)}
	for i, h := range hostile {
		p.events(row{data: fmt.Sprintf(`{"k":%s}`, quoteJSON(h)), offset: int64(i), ts: noon.Add(time.Duration(i))})
	}
	for i, h := range hostile {
		q := url.Values{"where": {"k=" + quoteJSON(h)}}
		got := items(p.get("one", "/api/events?"+q.Encode()))
		if len(got) != 1 || got[0]["data"].(map[string]any)["k"] != h {
			t.Errorf("where=%q found %v", h, got)
		}
		found := false
		for _, item := range items(p.get("one", "/api/events?"+url.Values{"q": {h}}.Encode())) {
			found = found || item["data"].(map[string]any)["k"] == hostile[i]
		}
		if !found {
			t.Errorf("q=%q did not find its row", h)
		}
		for _, path := range []string{"/api/errors/groups?environment=%s&release=%[1]s&service=%[1]s&q=%[1]s", "/api/webhooks/deliveries?endpoint_id=%s",
			"/api/performance/series?metric=%s&service=%[1]s", "/api/events?where=%s%%3D1"} {
			resp, body := p.request("one", fmt.Sprintf(path, url.QueryEscape(h)))
			if resp.StatusCode != 200 && resp.StatusCode != 400 {
				t.Errorf("%s with %q: %d %s", path, h, resp.StatusCode, body)
			}
		}
		if resp, body := p.request("one", "/api/trace/"+url.PathEscape(h)); resp.StatusCode != 404 {
			t.Errorf("trace %q: %d %s", h, resp.StatusCode, body)
		}
	}
}

func quoteJSON(s string) string { return `"` + jsonEscape(s) + `"` }

func TestReadYourWrites(t *testing.T) {
	p := newPortal(t)
	const header = "log:0:5,cost:1:7,error:0:2,webhook:0:1,weir.control:0:9"
	for path, want := range map[string]string{
		"/api/events": "history log:0:5,cost:1:7,error:0:2,webhook:0:1", "/api/errors/groups": "errorgroups error:0:2;triage weir.control:0:9",
		"/api/webhooks/deliveries": "deliveries webhook:0:1", "/api/cost/rollups": "costs cost:1:7",
	} {
		p.waits.asked = nil
		if resp, body := p.request("one", path, HeaderLogPosition, header); resp.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
		if got := strings.Join(p.waits.asked, ";"); got != want {
			t.Errorf("%s waited for %q, want %q", path, got, want)
		}
	}
	p.waits.asked = nil
	p.request("one", "/api/errors/groups", HeaderLogPosition, "log:0:5")
	if p.waits.asked != nil {
		t.Errorf("waited for what is not folded: %v", p.waits.asked)
	}
	p.problem("one", "/api/events", 400, "invalid_parameter", HeaderLogPosition, "log:x")
	p.problem("", "/api/events", 401, "unauthorized", HeaderLogPosition, "log:0:5")
	p.waits.block = true
	p.problem("one", "/api/events", 503, "not_yet_visible", HeaderLogPosition, "log:0:5")
	p.waits.block, p.waits.err = false, errors.New("broker away")
	p.problem("one", "/api/events", 503, "read_model_unavailable", HeaderLogPosition, "log:0:5")
}

// broken fails every query.
type broken struct{ err error }

func (b broken) Query(context.Context, string, ...any) (driver.Rows, error) { return nil, b.err }

func TestReadModelDown(t *testing.T) {
	var log bytes.Buffer
	p := newPortalOn(t, nil, func(c *Config) {
		c.Conn = broken{errors.New("dial tcp 10.1.2.3:9000: refused")}
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	for _, path := range append(append([]string{}, lists...), resources...) {
		resp, body := p.request("one", path)
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || !bytes.Contains(body, []byte("read_model_unavailable")) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
		if bytes.Contains(body, []byte("10.1.2.3")) {
			t.Errorf("%s: inner detail in the answer: %s", path, body)
		}
	}
	if !strings.Contains(log.String(), "10.1.2.3") {
		t.Error("the cause is not in the log")
	}
}

// TestTablesNotMadeYet answers 503, not 500: the projector makes them soon.
func TestTablesNotMadeYet(t *testing.T) {
	p := newPortal(t)
	if err := p.conn.Exec(context.Background(), "DROP TABLE events SYNC"); err != nil {
		t.Fatal(err)
	}
	p.problem("one", "/api/events", 503, "read_model_unavailable")
}

func TestQueriesCannotWrite(t *testing.T) {
	p := newPortal(t)
	err := p.reader.query(context.Background(), "test", Statement{SQL: "TRUNCATE TABLE events"}, func(driver.Rows) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "readonly") {
		t.Errorf("a query changed a table: %v", err)
	}
}

func TestStatus(t *testing.T) {
	p := newPortalOn(t, nil, func(c *Config) { c.Modules = health{} })
	if n := len(Modules()); n != 14 {
		t.Fatalf("%d modules", n)
	}
	for _, module := range Modules() {
		resp, body := p.request("", "/api/"+module+"/status")
		want := `{"module":"` + module + `","status":"ok","lag_records":3,"lag_seconds":1.5,"last_event_at":"2026-11-20T12:00:00Z","generation":2}`
		status := 200
		switch module {
		case "errors":
			want, status = strings.Replace(want, "ok", "down", 1), 503
		case "webhooks":
			want = `{"module":"webhooks","status":"degraded","lag_records":0,"lag_seconds":0,"last_event_at":null,"generation":0}`
		}
		if resp.StatusCode != status || strings.TrimSpace(string(body)) != want {
			t.Errorf("%s: %d %s", module, resp.StatusCode, body)
		}
	}
}

type health struct{}

func (health) Module(name string) ModuleStatus {
	s := ModuleStatus{Health: OK, LagRecords: 3, Lag: 1500 * time.Millisecond, LastEventAt: noon, Generation: 2}
	switch name {
	case "errors":
		s.Health = Down
	case "webhooks":
		s = ModuleStatus{Health: Degraded}
	}
	return s
}
