package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// reporter captures exceptions and decides about their groups with one key.
type reporter struct {
	t   testing.TB
	s   *server
	key string
	at  string // the position of the last answer
}

func (r *reporter) post(path string, body any, status int) map[string]any {
	r.t.Helper()
	raw, ok := body.(string)
	if !ok {
		encoded, err := json.Marshal(body)
		if err != nil {
			r.t.Fatal(err)
		}
		raw = string(encoded)
	}
	req, err := http.NewRequest(http.MethodPost, r.s.base()+path, bytes.NewReader([]byte(raw)))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.key)
	req.Header.Set("Content-Type", "application/json")
	if r.at != "" {
		req.Header.Set("X-Service-Log-Position", r.at)
	}
	a, err := do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	if a.status != status {
		r.t.Fatalf("POST %s: %s, want %d", path, a, status)
	}
	if at := a.header.Get("X-Service-Log-Position"); at != "" {
		r.at = at
	}
	out := map[string]any{}
	if err := json.Unmarshal(a.body, &out); err != nil {
		r.t.Fatalf("POST %s: %v: %s", path, err, a)
	}
	return out
}

func (r *reporter) capture(body any) string {
	r.t.Helper()
	print, _ := r.post("/api/errors/capture", body, http.StatusOK)["fingerprint"].(string)
	return print
}

// group reads one group, with all that was answered before.
func (r *reporter) group(print string) map[string]any {
	r.t.Helper()
	a, err := getAt(r.s.base(), r.key, "/api/errors/groups/"+print, nil, r.at)
	if err != nil || a.status != http.StatusOK {
		r.t.Fatalf("group %s: %v %s", print, err, a)
	}
	out := map[string]any{}
	if err := json.Unmarshal(a.body, &out); err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *reporter) is(print, status string, count int) {
	r.t.Helper()
	g := r.group(print)
	if g["status"] != status || fmt.Sprint(g["count"]) != fmt.Sprint(count) {
		r.t.Errorf("group %s is %v with %v occurrences, want %s with %d", print, g["status"], g["count"], status, count)
	}
}

// TestTriage goes the way of an error: captured, resolved in a release, back, merged; and all of
// it is there after a rebuild of the groups and of the decisions, and after a kill.
func TestTriage(t *testing.T) {
	t.Parallel()
	s := serve(t)
	who := s.project("triage")
	r := &reporter{t: t, s: s, key: who.APIKey}
	status := func(print string, more string) {
		t.Helper()
		r.post("/api/errors/groups/"+print+"/status", `{`+more+`,"reason":"a test"}`, http.StatusOK)
	}

	pay := r.capture(map[string]any{"name": "PayError", "message": "card 4711 declined", "release": "1.0.0", "environment": "prod", "service": "shop", "user": 7})
	if again := r.capture(map[string]any{"name": "PayError", "message": "card 815 declined", "release": "1.0.0"}); again != pay {
		t.Errorf("the same error is %s and %s", pay, again)
	}
	r.is(pay, "unresolved", 2)
	status(pay, `"status":"resolved","resolved_in_release":"1.1.0"`)
	r.is(pay, "resolved", 2)
	r.capture(map[string]any{"name": "PayError", "message": "card 1 declined", "release": "1.0.9"})
	r.is(pay, "resolved", 3)
	// late: it happened before the decision, in the release that was to cure it
	r.capture(map[string]any{"name": "PayError", "message": "card 2 declined", "release": "1.1.0", "ts": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)})
	r.is(pay, "resolved", 4)
	r.capture(map[string]any{"name": "PayError", "message": "card 3 declined", "release": "1.10.0"})
	r.is(pay, "regressed", 5)

	ship := r.capture(map[string]any{"name": "ShipError", "message": "no address"})
	status(ship, `"status":"ignored","ignored_until_count":1`)
	r.is(ship, "ignored", 1)
	r.capture(map[string]any{"name": "ShipError", "message": "no address"})
	r.is(ship, "unresolved", 2)
	status(ship, `"status":"resolved"`)
	boat := r.capture(map[string]any{"name": "BoatError", "message": "no harbour", "ts": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)})
	r.post("/api/errors/groups/"+boat+"/merge", map[string]string{"into": ship}, http.StatusOK)
	r.is(boat, "resolved", 3)

	hostile := []string{
		`{"message":"` + strings.Repeat("x", 1<<20) + `"}`, `{"message":"m","stack":5}`,
		`{"message":"m","stack":[` + strings.Repeat(`{"function":"f","filename":"a.js","lineno":1},`, 9999) + `{}]}`,
		`{"message":"\u0000\u001b[31m\u202e"}`, `{"name":"A","message":"m","cause":{"name":"B","cause":{"name":"A"}}}`,
	}
	for _, payload := range hostile {
		r.capture(payload)
	}
	r.post("/api/errors/capture", `{"message":"\ud800"}`, http.StatusBadRequest)
	r.is(pay, "regressed", 5) // the partition goes on

	all := func() string {
		t.Helper()
		var lines []string
		for _, g := range listGroups(t, r, url.Values{}) {
			lines = append(lines, fmt.Sprintf("%v %v %v %v %v", g["fingerprint"], g["name"], g["status"], g["count"], g["first_seen"]))
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	before := all()
	for _, name := range []string{"errorgroups", "triage"} {
		s.admin(nil, "rebuild", name)
		if after := all(); after != before {
			t.Errorf("after a rebuild of %s:\n%s\ninstead of\n%s", name, after, before)
		}
	}
	s.kill()
	s.start()
	r.is(boat, "resolved", 3)
	if after := all(); after != before {
		t.Errorf("after a kill:\n%s\ninstead of\n%s", after, before)
	}
	r.post("/api/errors/groups/"+boat+"/unmerge", map[string]string{}, http.StatusOK)
	r.is(boat, "unresolved", 1)
	r.is(ship, "resolved", 2)
}

func listGroups(t testing.TB, r *reporter, query url.Values) []map[string]any {
	t.Helper()
	a, err := getAt(r.s.base(), r.key, "/api/errors/groups", query, r.at)
	var page struct {
		Data []map[string]any `json:"data"`
	}
	if err != nil || a.status != http.StatusOK || json.Unmarshal(a.body, &page) != nil {
		t.Fatalf("groups: %v %s", err, a)
	}
	return page.Data
}
