package readmodel

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/go-chi/chi/v5"

	"weir/eventlog"
	"weir/internal/clickhouse/chtest"
	"weir/internal/httpapi"
	"weir/readmodel/tables"
)

func TestMain(m *testing.M) {
	// Each check of a property is many requests here; -rapid.checks given by hand wins, being parsed later.
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
	os.Exit(chtest.Main(m))
}

// keys are the bearers of the tests.
type keys map[string]httpapi.Principal

func (k keys) Authenticate(bearer string) (httpapi.Principal, bool) {
	p, ok := k[bearer]
	return p, ok
}

var testKeys = keys{
	"admin":  {Admin: true},
	"one":    {ProjectID: "prj_one", KeyID: "k1", Scopes: httpapi.ScopeRead},
	"two":    {ProjectID: "prj_two", KeyID: "k2", Scopes: httpapi.ScopeAll},
	"writer": {ProjectID: "prj_one", KeyID: "k3", Scopes: httpapi.ScopeIngest},
}

// waits notes what reads waited for.
type waits struct {
	asked []string
	err   error
	block bool
}

func (w *waits) Wait(ctx context.Context, projection string, p eventlog.Positions) error {
	w.asked = append(w.asked, projection+" "+p.String())
	if w.block {
		<-ctx.Done()
		return ctx.Err()
	}
	return w.err
}

// portal is the read side over a database of its own.
type portal struct {
	t      testing.TB
	conn   driver.Conn
	server *httptest.Server
	reader *Reader
	waits  *waits
}

func newPortal(t testing.TB, change ...func(*Config)) *portal {
	t.Helper()
	conn := chtest.Open(t)
	makeTables(t, conn)
	return newPortalOn(t, conn, change...)
}

func makeTables(t testing.TB, conn driver.Conn) {
	t.Helper()
	for _, table := range tables.All() {
		g := tables.Generation{Projection: "test", Version: 1, Generation: 1}
		if err := conn.Exec(context.Background(), table.Create(table.Name, g, tables.Options{})); err != nil {
			t.Fatalf("making table %s: %v", table.Name, err)
		}
	}
}

func newPortalOn(t testing.TB, conn driver.Conn, change ...func(*Config)) *portal {
	w := &waits{}
	cfg := Config{Conn: conn, Auth: testKeys, Waiter: w, PollInterval: 5 * time.Millisecond, MaxWait: 20 * time.Millisecond}
	for _, c := range change {
		c(&cfg)
	}
	rd := New(cfg)
	router := chi.NewRouter()
	router.Use(httpapi.NewObserver(cfg.Logger, nil).Middleware)
	rd.Routes(router)
	server := httptest.NewServer(router)
	t.Cleanup(func() { rd.Close(); server.Close() })
	return &portal{t, conn, server, rd, w}
}

// request asks with a key and gives the answer whole.
func (p *portal) request(key, path string, headers ...string) (*http.Response, []byte) {
	p.t.Helper()
	r, err := http.NewRequest(http.MethodGet, p.server.URL+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp, body
}

// get asks with a key, expects 200 and decodes the answer, keeping numbers as text.
func (p *portal) get(key, path string) map[string]any {
	p.t.Helper()
	resp, body := p.request(key, path)
	if resp.StatusCode != http.StatusOK {
		p.t.Fatalf("GET %s: %d %s", path, resp.StatusCode, body)
	}
	return decode(p.t, body)
}

func decode(t testing.TB, body []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("not a JSON object: %v: %s", err, body)
	}
	return v
}

// problem asks and expects a problem document of that status and code; it gives the detail.
func (p *portal) problem(key, path string, status int, code httpapi.Code, headers ...string) string {
	p.t.Helper()
	resp, body := p.request(key, path, headers...)
	doc := map[string]any{}
	_ = json.Unmarshal(body, &doc)
	if resp.StatusCode != status || doc["code"] != string(code) {
		p.t.Fatalf("GET %s: %d %s, want %d %s", path, resp.StatusCode, body, status, code)
	}
	detail, _ := doc["detail"].(string)
	return detail
}

// row is a row of the table events; what is not given has a plain value.
type row struct {
	project, kind string
	ts, received  time.Time
	data          string
	partition     uint32
	offset        int64
	id            [16]byte
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func (p *portal) events(rows ...row) {
	p.t.Helper()
	p.insert(tables.Events(), len(rows), func(i int) []any {
		r := rows[i]
		if r.project == "" {
			r.project = "prj_one"
		}
		if r.kind == "" {
			r.kind = "log"
		}
		if r.ts.IsZero() {
			r.ts = noon.Add(time.Duration(i) * time.Second)
		}
		if r.received.IsZero() {
			r.received = time.Now()
		}
		if r.data == "" {
			r.data = `{"message":"hello"}`
		}
		if r.id == ([16]byte{}) {
			r.id[0], r.id[1], r.id[15] = byte(i>>8), byte(i), byte(r.offset)
		}
		return []any{string(r.id[:]), r.project, r.kind, r.ts, r.received, r.data, "", r.partition, r.offset}
	})
}

func (p *portal) insert(table tables.Table, n int, values func(i int) []any) {
	p.t.Helper()
	batch, err := p.conn.PrepareBatch(context.Background(), table.Insert(table.Name))
	if err != nil {
		p.t.Fatalf("insert into %s: %v", table.Name, err)
	}
	for i := range n {
		if err := batch.Append(values(i)...); err != nil {
			p.t.Fatalf("insert into %s: %v", table.Name, err)
		}
	}
	if err := batch.Send(); err != nil {
		p.t.Fatalf("insert into %s: %v", table.Name, err)
	}
}

// items are the elements of data as objects.
func items(answer map[string]any) []map[string]any {
	list, _ := answer["data"].([]any)
	out := make([]map[string]any, len(list))
	for i := range list {
		out[i], _ = list[i].(map[string]any)
	}
	return out
}
