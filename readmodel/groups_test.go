package readmodel

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/projections/errorgroups/releases"
	"weir/readmodel/tables"
)

// fingerprint is the n-th fingerprint of the tests, in hex.
func fingerprint(n int) string { return fmt.Sprintf("%032x", n) }

func raw(hexed string) string {
	b, _ := hex.DecodeString(hexed)
	return string(b)
}

// occurs folds one error event, as the projection would: one row in each table.
type occurs struct {
	project                       string
	group                         int
	ts                            time.Time
	name, release, env, service   string
	message, stack, meta, request string
}

func (p *portal) errors(all ...occurs) {
	p.t.Helper()
	for i := range all {
		if all[i].project == "" {
			all[i].project = "prj_one"
		}
	}
	id := func(i int) string { return raw(fmt.Sprintf("%032x", i+1)) }
	p.insert(tables.ErrorGroups(), len(all), func(i int) []any {
		o := all[i]
		none := time.Unix(0, 0).UTC()
		first, last := []any{time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC), ""}, []any{none, ""}
		if o.release != "" {
			first, last = []any{o.ts, o.release}, []any{o.ts, o.release}
		}
		return []any{o.project, raw(fingerprint(o.group)), uint64(1), o.ts, o.ts, o.ts,
			[]any{o.ts, id(i), o.name, o.message, "main.go", `{"rule":"` + o.name + `"}`}, first, last}
	})
	p.insert(tables.ErrorGroupHours(), len(all), func(i int) []any {
		o := all[i]
		return []any{o.project, raw(fingerprint(o.group)), o.ts.Truncate(time.Hour), uint64(1)}
	})
	var facets [][]any
	for _, o := range all {
		for facet, value := range map[string]string{tables.FacetEnvironment: o.env, tables.FacetRelease: o.release, tables.FacetService: o.service} {
			if value != "" {
				facets = append(facets, []any{o.project, raw(fingerprint(o.group)), facet, value, uint64(1), o.ts, o.ts, o.ts, releaseKey(facet, value)})
			}
		}
	}
	p.insert(tables.ErrorReleases(), len(all), func(i int) []any { return []any{all[i].project, all[i].release, all[i].ts} })
	p.insert(tables.ErrorGroupFacets(), len(facets), func(i int) []any { return facets[i] })
	p.insert(tables.ErrorOccurrences(), len(all), func(i int) []any {
		o := all[i]
		values := map[string]any{"project_id": o.project, "fingerprint": raw(fingerprint(o.group)), "ts": o.ts, "event_id": id(i),
			"received_at": o.ts, "name": o.name, "message": o.message, "culprit": "main.go", "release": o.release, "environment": o.env,
			"service": o.service, "stack": o.stack, "request": o.request, "metadata": o.meta, "partition": uint32(0), "offset": int64(i)}
		var row []any
		for _, c := range tables.ErrorOccurrences().ColumnNames() {
			row = append(row, values[c])
		}
		return row
	})
}

func releaseKey(facet, value string) string {
	if facet != tables.FacetRelease {
		return ""
	}
	return releases.Key(value)
}

func names(list []map[string]any, field string) string {
	var s []string
	for _, item := range list {
		s = append(s, fmt.Sprint(item[field]))
	}
	return strings.Join(s, " ")
}

func TestGroups(t *testing.T) {
	p := newPortal(t)
	now := time.Now().UTC()
	p.errors(
		occurs{group: 1, ts: noon, name: "A", release: "1.0", env: "prod", service: "api"},
		occurs{group: 1, ts: noon.Add(time.Hour), name: "A2", message: "Über alles", release: "1.1", env: "dev"},
		occurs{group: 1, ts: now, name: "A3", env: "prod"},
		occurs{group: 2, ts: noon.Add(time.Minute), name: "B", service: "web"},
		occurs{group: 2, ts: noon.Add(2 * time.Minute), name: "B"},
		occurs{group: 3, ts: noon.Add(-time.Minute), name: "C", env: "prod"},
		occurs{group: 9, ts: noon, name: "Z", project: "prj_two", env: "prod"},
	)
	tests := []struct{ query, want string }{
		{"", "A3 B C"},
		{"order=asc", "C B A3"},
		{"sort=count", "A3 B C"},
		{"sort=count&order=asc", "C B A3"},
		{"sort=first_seen", "B A3 C"},
		{"environment=prod", "A3 C"},
		{"environment=prod&service=api", "A3"},
		{"release=1.1", "A3"},
		{"release=9", ""},
		{"service=web", "B"},
		{"q=a3", "A3"},
		{"q=MAIN.GO", "A3 B C"},
		{"q=nothing", ""},
		{"status=unresolved", "A3 B C"},
		{"status=unresolved,ignored", "A3 B C"},
		{"status=resolved", ""},
		{"since=" + noon.Add(90*time.Second).Format(time.RFC3339), "A3 B"},
		{"until=" + noon.Format(time.RFC3339), "C"},
		{"since=" + noon.Add(time.Minute).Format(time.RFC3339) + "&until=" + noon.Add(30*time.Second).Add(time.Hour).Format(time.RFC3339), "A3 B"},
	}
	for _, tt := range tests {
		if got := names(items(p.get("one", "/api/errors/groups?"+tt.query)), "name"); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.query, got, tt.want)
		}
	}
	first := items(p.get("one", "/api/errors/groups?limit=1"))[0]
	want := map[string]any{
		"fingerprint": fingerprint(1), "name": "A3", "message": "", "culprit": "main.go", "status": "unresolved",
		"first_seen": "2026-11-20T12:00:00Z", "last_seen": now.Format(time.RFC3339Nano), "count": "3",
		"first_release": "1.0", "last_release": "1.1", "environments": "[dev prod]", "services": "[api]",
	}
	for field, v := range want {
		if got := fmt.Sprint(first[field]); got != v {
			t.Errorf("%s: got %s, want %v", field, got, v)
		}
	}
	trend, _ := first["trend"].([]any)
	if len(trend) != 24 || fmt.Sprint(trend[23]) != "1" || fmt.Sprint(trend[0]) != "0" {
		t.Errorf("trend %v", trend)
	}
}

func TestGroupDetail(t *testing.T) {
	p := newPortal(t)
	stack := `[ {"line": 1.0} ]`
	p.errors(
		occurs{group: 1, ts: noon, name: "A", release: "1.0", stack: stack, meta: `{"n":12345678901234567890123}`},
		occurs{group: 1, ts: noon.Add(time.Second), name: "A"},
		occurs{group: 1, ts: noon.Add(2 * time.Second), name: "A", stack: "half {"},
	)
	path := "/api/errors/groups/" + fingerprint(1)
	d := p.get("one", path+"?limit=2")
	if fmt.Sprint(d["count"]) != "3" || d["name"] != "A" || d["project_id"] != "prj_one" || fmt.Sprint(d["explanation"]) != "map[rule:A]" {
		t.Errorf("%v", d)
	}
	occurrences := d["occurrences"].(map[string]any)
	if got := names(items(occurrences), "ts"); got != "2026-11-20T12:00:02Z 2026-11-20T12:00:01Z" {
		t.Errorf("first page %s", got)
	}
	if got := items(occurrences)[0]["stack"]; got != "half {" {
		t.Errorf("a stack that is no JSON came out as %v", got)
	}
	next := occurrences["next_cursor"].(string)
	rest := p.get("admin", path+"?limit=2&cursor="+url.QueryEscape(next))["occurrences"].(map[string]any)
	if len(items(rest)) != 1 || rest["next_cursor"] != nil {
		t.Fatalf("second page %v", rest)
	}
	if got := fmt.Sprint(items(rest)[0]["metadata"]); got != "map[n:12345678901234567890123]" {
		t.Errorf("metadata %s", got)
	}
	p.problem("two", path, 404, "not_found")
	p.problem("one", "/api/errors/groups/"+fingerprint(2), 404, "not_found")
	for _, odd := range []string{"x", "%27%20OR%201=1--", strings.Repeat("F", 32), "%00", "%ff"} {
		p.problem("one", "/api/errors/groups/"+odd, 404, "not_found")
	}
	p.problem("one", path+"?cursor="+url.QueryEscape(next)+"x", 400, "invalid_parameter")
	p.problem("one", "/api/errors/groups?cursor="+url.QueryEscape(next), 400, "invalid_parameter")
}

// TestFacetsAreBounded shows the most frequent values when there are many.
func TestFacetsAreBounded(t *testing.T) {
	p := newPortal(t)
	var all []occurs
	for i := range 100 {
		all = append(all, occurs{group: 1, ts: noon, env: fmt.Sprintf("env-%d", i)})
	}
	all = append(all, occurs{group: 1, ts: noon, env: "prod"}, occurs{group: 1, ts: noon, env: "prod"})
	p.errors(all...)
	envs := items(p.get("one", "/api/errors/groups"))[0]["environments"].([]any)
	if len(envs) != maxFacetValues || !slices.Contains(envs, any("prod")) {
		t.Errorf("%d values: %v", len(envs), envs)
	}
}
