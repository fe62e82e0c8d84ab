package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
)

// api is the endpoints over a node, and everything they logged.
type api struct {
	*Commands
	t      *testing.T
	router chi.Router
	log    *lockedBuffer
	events *memLog
}

func newAPI(t *testing.T) *api {
	t.Helper()
	out, events := &lockedBuffer{}, newMemLog()
	logger := slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := startNode(t, events, func(cfg *Config) { cfg.Logger = logger })
	r := chi.NewRouter()
	r.Use(httpapi.NewObserver(logger, nil).Middleware)
	r.NotFound(httpapi.NotFoundHandler)
	c.Routes(r)
	return &api{c, t, r, out, events}
}

// call sends a request and decodes the answer into a map; the body of a problem, too.
func (a *api) call(bearer Secret, method, path, body string) (int, map[string]any) {
	a.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	r, w := httptest.NewRequest(method, path, in), httptest.NewRecorder()
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if !bearer.Empty() {
		r.Header.Set("Authorization", "Bearer "+bearer.Reveal())
	}
	a.router.ServeHTTP(w, r)
	out := map[string]any{}
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			a.t.Fatalf("%s %s: %v: %s", method, path, err, w.Body)
		}
	}
	return w.Code, out
}

// made is a project made over HTTP.
type made struct {
	id, keyID   string
	key, secret Secret
}

func (a *api) project(name string) made {
	a.t.Helper()
	status, out := a.call(testAdminToken, "POST", "/api/projects", fmt.Sprintf(`{"name":%q}`, name))
	if status != http.StatusCreated {
		a.t.Fatalf("%d %v", status, out)
	}
	text := func(name string) string { return fmt.Sprint(out[name]) }
	return made{text("project_id"), text("key_id"), NewSecret(text("api_key")), NewSecret(text("webhook_secret"))}
}

func (a *api) key(p made, scopes string) Secret {
	a.t.Helper()
	status, out := a.call(testAdminToken, "POST", "/api/projects/"+p.id+"/keys", `{"scopes":`+scopes+`}`)
	if status != http.StatusCreated {
		a.t.Fatalf("%d %v", status, out)
	}
	return NewSecret(fmt.Sprint(out["api_key"]))
}

func TestRoutes(t *testing.T) {
	a := newAPI(t)
	one, two := a.project("one"), a.project("two")
	reader, sender, manager := a.key(one, `["read"]`), a.key(one, `["ingest"]`), a.key(one, `["manage"]`)
	nobody, own := Secret{}, "/api/projects/"+one.id
	for _, c := range []struct {
		name         string
		bearer       Secret
		method, path string
		body         string
		status       int
		says         string
	}{
		{"create, no bearer", nobody, "POST", "/api/projects", `{"name":"x"}`, 401, "unauthorized"},
		{"create, project key", one.key, "POST", "/api/projects", `{"name":"x"}`, 403, "admin token"},
		{"create, no name", testAdminToken, "POST", "/api/projects", `{}`, 400, "name: required"},
		{"create, unknown fields", testAdminToken, "POST", "/api/projects", `{"name":"x","color":1,"size":2}`, 400, "color: unknown field; size: unknown field"},
		{"create, not JSON", testAdminToken, "POST", "/api/projects", `name=x`, 400, "invalid_json"},
		{"create, huge", testAdminToken, "POST", "/api/projects", `{"name":"` + strings.Repeat("x", maxBody) + `"}`, 413, "body_too_large"},
		{"list", testAdminToken, "GET", "/api/projects", "", 200, one.id},
		{"list, project key", one.key, "GET", "/api/projects", "", 403, ""},
		{"list, bad limit", testAdminToken, "GET", "/api/projects?limit=0", "", 400, "limit"},
		{"list, bad cursor", testAdminToken, "GET", "/api/projects?cursor=zzz", "", 400, "cursor"},
		{"get", testAdminToken, "GET", own, "", 200, `"limits":{"batch_bytes":null`},
		{"get, unknown", testAdminToken, "GET", "/api/projects/prj_none", "", 404, "no such project"},
		{"get, own", reader, "GET", own, "", 200, `"name":"one"`},
		{"get, foreign", two.key, "GET", own, "", 404, "no such project"},
		{"get, no read scope", sender, "GET", own, "", 403, ""},
		{"rename", testAdminToken, "PATCH", own, `{"name":"uno"}`, 200, `"name":"uno"`},
		{"rename, project key", one.key, "PATCH", own, `{"name":"uno"}`, 403, ""},
		{"rename, unknown", testAdminToken, "PATCH", "/api/projects/prj_none", `{"name":"x"}`, 404, ""},
		{"several at once", testAdminToken, "PATCH", own, `{"operator":true,"limits":{"batch_bytes":4096}}`, 200, `"operator":true`},
		{"unknown limit inside", testAdminToken, "PATCH", own, `{"limits":{"colours":1}}`, 400, "colours"},
		{"limits", testAdminToken, "PATCH", own + "/limits", `{"events_per_second":0,"batch_bytes":null}`, 200, `"limits":{"batch_bytes":null,"batches_per_second":null,"events_per_second":0}`},
		{"limits, faults named", testAdminToken, "PATCH", own + "/limits", `{"events_per_second":"x","batch_bytes":1.5}`, 400, "events_per_second: must be a whole number from 0"},
		{"limits, too small", testAdminToken, "PATCH", own + "/limits", `{"batch_bytes":0}`, 400, "batch_bytes"},
		{"limits, project key", manager, "PATCH", own + "/limits", `{"events_per_second":0}`, 403, ""},
		{"key, own", one.key, "POST", own + "/keys", `{"scopes":["read"],"name":"ci"}`, 201, `"api_key":"weir_`},
		{"key, admin", testAdminToken, "POST", own + "/keys", `{"scopes":["read"]}`, 201, `"scopes":["read"]`},
		{"key, no scope", one.key, "POST", own + "/keys", `{}`, 400, "scopes"},
		{"key, unknown scope", one.key, "POST", own + "/keys", `{"scopes":["fly"]}`, 400, "fly"},
		{"key, more than one has", manager, "POST", own + "/keys", `{"scopes":["read"]}`, 403, "only give scopes"},
		{"key, no manage scope", reader, "POST", own + "/keys", `{"scopes":["read"]}`, 403, "manage"},
		{"key, foreign", two.key, "POST", own + "/keys", `{"scopes":["read"]}`, 404, "no such project"},
		{"keys", manager, "GET", own + "/keys", "", 200, one.keyID},
		{"keys, foreign", two.key, "GET", own + "/keys", "", 404, ""},
		{"keys, foreign and unknown look the same", two.key, "GET", "/api/projects/prj_none/keys", "", 404, "no such project"},
		{"keys, no scope", sender, "GET", own + "/keys", "", 403, ""},
		{"revoke, foreign project", two.key, "DELETE", own + "/keys/" + one.keyID, "", 404, "no such project"},
		{"revoke, foreign key", two.key, "DELETE", "/api/projects/" + two.id + "/keys/" + one.keyID, "", 404, "no such key"},
		{"revoke, unknown", one.key, "DELETE", own + "/keys/none", "", 404, "no such key"},
		{"revoke", manager, "DELETE", own + "/keys/" + one.keyID, "", 204, ""},
		{"revoke again", manager, "DELETE", own + "/keys/" + one.keyID, "", 204, ""},
		{"the revoked key", one.key, "GET", own, "", 401, "unauthorized"},
		{"the other project", two.key, "GET", "/api/projects/" + two.id, "", 200, two.id},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out := a.call(c.bearer, c.method, c.path, c.body)
			text := encode(t, out)
			if status != c.status || !strings.Contains(text, c.says) {
				t.Errorf("got %d %s, want %d and %q", status, text, c.status, c.says)
			}
		})
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestListsPage(t *testing.T) {
	a := newAPI(t)
	var ids []string
	for i := range 7 {
		ids = append([]string{a.project(fmt.Sprint(i)).id}, ids...)
	}
	var got []string
	path := "/api/projects?limit=3"
	for pages := 1; ; pages++ {
		status, out := a.call(testAdminToken, "GET", path, "")
		if status != 200 {
			t.Fatalf("%d %v", status, out)
		}
		for _, p := range out["data"].([]any) {
			got = append(got, p.(map[string]any)["project_id"].(string))
		}
		next, more := out["next_cursor"].(string)
		if !more {
			if pages != 3 {
				t.Errorf("%d pages", pages)
			}
			break
		}
		path = "/api/projects?limit=3&cursor=" + next
	}
	if fmt.Sprint(got) != fmt.Sprint(ids) {
		t.Errorf("got %v, want newest first %v", got, ids)
	}
}

// echoes is an answer that names an unknown field: it repeats what its own
// request sent, which is no leak. In the log it would be one.
func echoes(out map[string]any) bool {
	return strings.Contains(fmt.Sprint(out["detail"]), "unknown")
}

// TestSecretsStayInTheirOneAnswer makes and uses secrets every way there is and looks
// for them where they must not be: the log's records, our own logging, later answers.
func TestSecretsStayInTheirOneAnswer(t *testing.T) {
	a := newAPI(t)
	p := a.project("shop")
	k := a.key(p, `["read","manage"]`)
	secrets := []Secret{p.key, p.secret, k, testAdminToken, testMasterKey}
	var answers strings.Builder
	for _, s := range secrets {
		text := s.Reveal()
		for _, c := range [][3]string{
			{"GET", "/api/projects", ""}, {"GET", "/api/projects/" + p.id, ""}, {"GET", "/api/projects/" + p.id + "/keys", ""},
			{"GET", "/api/projects/" + text, ""}, {"GET", "/api/projects?cursor=" + text, ""}, {"GET", "/api/" + text, ""},
			{"DELETE", "/api/projects/" + p.id + "/keys/" + text, ""},
			{"POST", "/api/projects/" + p.id + "/keys", fmt.Sprintf(`{"name":%q,"scopes":["read"]}`, text+text)},
			{"PATCH", "/api/projects/" + p.id, fmt.Sprintf(`{"name":%q}`, strings.Repeat(text, 3))},
			{"PATCH", "/api/projects/" + p.id, fmt.Sprintf(`{"limits":{%q:1}}`, text)},
			{"POST", "/api/projects/" + p.id + "/keys", fmt.Sprintf(`{%q:1}`, text)},
			{"POST", "/api/projects/" + p.id + "/keys", fmt.Sprintf(`{"scopes":[%q]}`, text)},
			{"PATCH", "/api/projects/" + p.id + "/limits", fmt.Sprintf(`{"events_per_second":%q}`, text)},
		} {
			for _, bearer := range []Secret{s, testAdminToken} {
				if _, out := a.call(bearer, c[0], c[1], c[2]); out["api_key"] == nil && !echoes(out) {
					answers.WriteString(encode(t, out))
				}
			}
		}
	}
	var records strings.Builder
	for _, r := range a.events.snapshot() {
		records.Write(r.Value)
		records.Write(r.Key)
	}
	for i, s := range secrets[:4] {
		for where, text := range map[string]string{"records": records.String(), "log lines": a.log.String(), "answers": answers.String()} {
			if form := shows(text, s.Reveal()); form != "" {
				t.Errorf("secret %d is in the %s as %s", i, where, form)
			}
		}
	}
	if !strings.Contains(a.log.String(), p.keyID) {
		t.Error("the key's public id should be in the log")
	}
}
