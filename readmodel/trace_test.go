package readmodel

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/readmodel/tables"
)

func TestTrace(t *testing.T) {
	p := newPortal(t)
	p.events(
		row{kind: "trace", data: `{"traceId":"t1","spanId":"c","name":"later"}`, ts: noon.Add(3)},
		row{kind: "trace", data: `{"spanId":"a","traceId" : "t1","name":"first"}`, ts: noon.Add(1)},
		row{kind: "trace", data: `{"x":{"traceId":"other"},"spanId":"b","traceId":"t\u0031","huge":123456789012345678901234}`, ts: noon.Add(2)},
		row{kind: "trace", data: `{"x":{"traceId":"t1"},"spanId":"n","traceId":"t2"}`},
		row{kind: "log", data: `{"traceId":"t1","message":"m"}`},
		row{kind: "trace", data: `{"traceId":"caf\u00e9 \"1\"\/x","spanId":"q","name":"odd"}`},
		row{kind: "trace", data: `{"traceId":"t1","spanId":"foreign"}`, project: "prj_two"},
	)
	spans := func(key, id string) (names []string) {
		for _, item := range items(p.get(key, "/api/trace/"+url.PathEscape(id))) {
			names = append(names, item["data"].(map[string]any)["spanId"].(string))
		}
		return names
	}
	// The span whose id is spelled t\u0031 hides from the index only; see tables.TraceIDs.
	if got := strings.Join(spans("one", "t1"), ""); got != "ac" {
		t.Errorf("t1: %s", got)
	}
	if got := strings.Join(spans("one", `café "1"/x`), ""); got != "q" {
		t.Errorf("odd id: %s", got)
	}
	if got := strings.Join(spans("two", "t1"), ""); got != "foreign" {
		t.Errorf("other project: %s", got)
	}
	if got := spans("admin", "t1"); len(got) != 3 {
		t.Errorf("admin: %s", got)
	}
	p.problem("two", "/api/trace/t2", 404, "not_found")
	p.problem("one", "/api/trace/"+strings.Repeat("x", 300), 404, "not_found")
	p.problem("one", "/api/trace/%ff", 404, "not_found")
}

// TestTraceUsesItsIndex would fail if the expression of the query and of the index drifted apart.
func TestTraceUsesItsIndex(t *testing.T) {
	p := newPortal(t)
	p.events(row{kind: "trace", data: `{"traceId":"t1"}`})
	s := TraceQuery{Project: "prj_one", TraceID: "t1", Limit: 10}.statement()
	s.SQL = "EXPLAIN indexes = 1 " + s.SQL
	var plan []string
	err := run(context.Background(), p.conn, s, func(rows driver.Rows) error {
		var line string
		err := rows.Scan(&line)
		plan = append(plan, line)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(plan, "\n"), "by_trace") {
		t.Errorf("the index by_trace of table %s is not used:\n%s", tables.Events().Name, strings.Join(plan, "\n"))
	}
}
