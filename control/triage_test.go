package control

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"weir/eventlog"
	"weir/internal/httpapi"
)

// knownGroups is a read model of two groups of one project; b is merged into a.
type knownGroups struct {
	project string
	waited  []string
}

var (
	groupA = strings.Repeat("a", 32)
	groupB = strings.Repeat("b", 32)
	groupC = strings.Repeat("c", 32)
)

func (g *knownGroups) Find(_ context.Context, project, fingerprint string, folded eventlog.Positions) (ErrorGroup, error) {
	g.waited = append(g.waited, folded.String())
	if project != "" && project != g.project {
		return ErrorGroup{}, httpapi.NotFound("error group")
	}
	switch fingerprint {
	case groupA, groupC:
		return ErrorGroup{g.project, fingerprint, fingerprint, 7}, nil
	case groupB:
		return ErrorGroup{g.project, groupA, groupB, 7}, nil
	}
	return ErrorGroup{}, httpapi.NotFound("error group")
}

func TestTriageRoutes(t *testing.T) {
	a := newAPI(t)
	one, two := a.project("one"), a.project("two")
	groups := &knownGroups{project: one.id}
	NewTriage(a.Commands, groups).Routes(a.router)
	reader := a.key(one, `["read"]`)
	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	status, merge, unmerge := "/status", "/merge", "/unmerge"
	for _, c := range []struct {
		name   string
		bearer Secret
		group  string
		verb   string
		body   string
		status int
		says   string
		event  string // what is appended: kind and data
	}{
		{"resolve", one.key, groupA, status, `{"status":"resolved","reason":"fixed in #12"}`, 200, `"status":"resolved"`,
			`group.resolved {"fingerprint":"` + groupA + `","reason":"fixed in #12"}`},
		{"resolve in a release", one.key, groupA, status, `{"status":"resolved","resolved_in_release":"1.2.0"}`, 200, `"resolved_in_release":"1.2.0"`,
			`group.resolved {"fingerprint":"` + groupA + `","release":"1.2.0"}`},
		{"a merged group is its target", testAdminToken, groupB, status, `{"status":"unresolved"}`, 200, groupA, `group.reopened {"fingerprint":"` + groupA + `"}`},
		{"ignore", one.key, groupA, status, `{"status":"ignored"}`, 200, "ignored", `group.ignored {"fingerprint":"` + groupA + `"}`},
		{"ignore until", one.key, groupA, status, `{"status":"ignored","ignored_until":"` + later + `"}`, 200, later, `group.ignored {"fingerprint":"` + groupA + `","until":"` + later + `"}`},
		{"ignore for three more", one.key, groupA, status, `{"status":"ignored","ignored_until_count":3}`, 200, `"ignored_until_count":3`,
			`group.ignored {"fingerprint":"` + groupA + `","count":10}`},
		{"merge", one.key, groupC, merge, `{"into":"` + groupB + `","reason":"same"}`, 200, `"merged":"` + groupC, `group.merged {"fingerprint":"` + groupC + `","into":"` + groupA + `","reason":"same"}`},
		{"unmerge", one.key, groupB, unmerge, `{}`, 200, `"unmerged":"` + groupB, `group.unmerged {"fingerprint":"` + groupB + `"}`},

		{"merge into itself", one.key, groupA, merge, `{"into":"` + groupB + `"}`, 409, "conflict", ""},
		{"unmerge what is not merged", one.key, groupA, unmerge, `{}`, 409, "conflict", ""},
		{"merge into nothing", one.key, groupA, merge, `{}`, 400, "into: required", ""},
		{"merge into an unknown", one.key, groupA, merge, `{"into":"` + strings.Repeat("d", 32) + `"}`, 404, "no such error group", ""},
		{"unknown status", one.key, groupA, status, `{"status":"regressed"}`, 400, "status: must be one of", ""},
		{"no status", one.key, groupA, status, `{}`, 400, "status: required", ""},
		{"release with another status", one.key, groupA, status, `{"status":"ignored","resolved_in_release":"1"}`, 400, "resolved_in_release", ""},
		{"until with another status", one.key, groupA, status, `{"status":"resolved","ignored_until":"` + later + `"}`, 400, "ignored_until", ""},
		{"until in the past", one.key, groupA, status, `{"status":"ignored","ignored_until":"2001-01-01T00:00:00Z"}`, 400, "time to come", ""},
		{"count of none", one.key, groupA, status, `{"status":"ignored","ignored_until_count":0}`, 400, "ignored_until_count", ""},
		{"unknown field", one.key, groupA, status, `{"status":"resolved","why":"x"}`, 400, "why: unknown field", ""},
		{"endless reason", one.key, groupA, status, `{"status":"resolved","reason":"` + strings.Repeat("x", 1001) + `"}`, 400, "reason", ""},
		{"without manage", reader, groupA, status, `{"status":"resolved"}`, 403, "forbidden", ""},
		{"foreign", two.key, groupA, status, `{"status":"resolved"}`, 404, "no such error group", ""},
		{"unknown", one.key, strings.Repeat("d", 32), status, `{"status":"resolved"}`, 404, "", ""},
		{"no fingerprint", one.key, "x", status, `{"status":"resolved"}`, 404, "", ""},
		{"nobody", Secret{}, groupA, status, `{"status":"resolved"}`, 401, "", ""},
	} {
		before := len(a.events.records)
		got, out := a.call(c.bearer, "POST", "/api/errors/groups/"+c.group+c.verb, c.body)
		text, _ := json.Marshal(out)
		if got != c.status || !strings.Contains(string(text), c.says) {
			t.Errorf("%s: %d %s, want %d %s", c.name, got, text, c.status, c.says)
		}
		appended := ""
		for _, r := range a.events.records[before:] {
			var w wire
			if err := json.Unmarshal(r.Value, &w); err != nil || w.Project != one.id || w.By == "" || w.At.IsZero() {
				t.Errorf("%s: appended %s", c.name, r.Value)
			}
			appended += w.Kind + " " + string(w.Data)
		}
		if appended != c.event {
			t.Errorf("%s: appended %q, want %q", c.name, appended, c.event)
		}
	}
	if last := groups.waited[len(groups.waited)-1]; !strings.HasPrefix(last, "weir.control:0:") {
		t.Errorf("a decision does not wait for the one before it: %q", last)
	}
	d := startNode(t, a.events) // another node, or this one after a restart
	if d.dir.metrics == nil || len(d.dir.state.projects) != 2 {
		t.Error("the decisions upset the Directory")
	}
}
