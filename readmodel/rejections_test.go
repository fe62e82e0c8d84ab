package readmodel

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/internal/httpapi"
	"weir/readmodel/tables"
)

// refused is a partial row of rejections; after counts minutes from noon.
type refused struct {
	project, kind, reason string
	number                uint64
	after                 int
	sample                string
}

func (p *portal) refuse(all ...refused) {
	p.t.Helper()
	p.insert(tables.Rejections(), len(all), func(i int) []any {
		r := all[i]
		at := noon.Add(time.Duration(r.after) * time.Minute)
		return []any{either(r.project, "prj_one"), at.Truncate(time.Hour), r.kind, r.reason, r.number, []any{at, r.sample}}
	})
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func TestRejections(t *testing.T) {
	p := newPortal(t)
	p.refuse(
		refused{kind: "log", reason: "data.message: required", number: 3, after: 1, sample: `{"type":"log"}`},
		refused{kind: "log", reason: "data.message: required", number: 4, after: 130, sample: `{"type":"log","data":{}}`},
		refused{kind: "log", reason: "data.message: required", number: 1, after: 5, sample: "older"},
		refused{kind: "", reason: `type: unknown value "lgo"`, number: 2, after: 50, sample: `{"type":"lgo"}`},
		refused{kind: "cost", reason: "data.amount: required", number: 9, after: 50, sample: "c"},
		refused{project: "prj_two", kind: "log", reason: "ts: required", number: 5, after: 3},
	)
	line := func(r map[string]any) string {
		return strings.Join([]string{fmt.Sprint(r["type"]), fmt.Sprint(r["reason"]), fmt.Sprint(r["count"]), fmt.Sprint(r["last_seen"]), fmt.Sprint(r["first_hour"]), fmt.Sprint(r["sample"])}, "|")
	}
	at := func(m int) string { return noon.Add(time.Duration(m) * time.Minute).UTC().Format(time.RFC3339Nano) }
	hour := func(m int) string {
		return noon.Add(time.Duration(m) * time.Minute).UTC().Truncate(time.Hour).Format(time.RFC3339Nano)
	}
	all := []string{
		`log|data.message: required|8|` + at(130) + `|` + hour(0) + `|{"type":"log","data":{}}`,
		`<nil>|type: unknown value "lgo"|2|` + at(50) + `|` + hour(0) + `|{"type":"lgo"}`,
		`cost|data.amount: required|9|` + at(50) + `|` + hour(0) + `|c`,
	}
	later := `log|data.message: required|4|` + at(130) + `|` + hour(130) + `|{"type":"log","data":{}}`
	for query, want := range map[string][]string{
		"":                              all,
		"type=cost":                     all[2:],
		"type=cost,log":                 {all[0], all[2]},
		"since=" + at(125):              {later},
		"until=" + at(-1):               nil,
		"since=2200-01-01T00:00:00Z":    nil,
		"since=" + at(61) + "&type=log": {later},
	} {
		var got []string
		for _, r := range items(p.get("one", "/api/ingest/rejections?"+query)) {
			got = append(got, line(r))
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\n got %q\nwant %q", query, got, want)
		}
	}
	var paged []string
	for next := ""; ; {
		page := p.get("one", "/api/ingest/rejections?limit=1"+next)
		for _, r := range items(page) {
			paged = append(paged, line(r))
		}
		if page["next_cursor"] == nil {
			break
		}
		next = "&cursor=" + url.QueryEscape(page["next_cursor"].(string))
	}
	if strings.Join(paged, "\n") != strings.Join(all, "\n") {
		t.Errorf("by pages: %q", paged)
	}
	p.problem("one", "/api/ingest/rejections?project_id=prj_two", 404, httpapi.CodeNotFound)
	p.problem("one", "/api/ingest/rejections?type=nothing", 400, httpapi.CodeInvalidParameter)
	p.problem("", "/api/ingest/rejections", 401, httpapi.CodeUnauthorized)
}
