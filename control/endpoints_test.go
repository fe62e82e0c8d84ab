package control

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
)

func newEndpoint(t *testing.T, c *Commands, project string) NewEndpoint {
	t.Helper()
	target, headers := "https://hooks.example.com/path/geheim-pfad", map[string]string{"X-Token": "geheim-kopf"}
	made, err := c.CreateEndpoint(t.Context(), httpapi.Principal{Admin: true}, project,
		EndpointSpec{Kind: KindSlack, URL: &target, Events: []string{"deploy.*"}, Headers: &headers})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestEndpointsAreFoldedAndSealed(t *testing.T) {
	log := newMemLog()
	c := startNode(t, log)
	p, err := c.CreateProject(t.Context(), httpapi.Principal{Admin: true}, "one")
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-time.Minute)
	made := newEndpoint(t, c, p.Project.ID)
	for _, r := range log.snapshot() {
		for _, secret := range []string{"geheim-pfad", "geheim-kopf", made.Secret.Reveal()} {
			if strings.Contains(string(r.Value), secret) {
				t.Errorf("the log shows %q", secret)
			}
		}
	}
	if text, _ := json.Marshal(made.Endpoint); strings.Contains(string(text), "geheim") || !strings.Contains(string(text), "https://hooks.example.com/") {
		t.Errorf("shown: %s", text)
	}
	other := startNode(t, log) // another process, from the log alone
	target, known, err := other.dir.Target(made.Endpoint.ID)
	if err != nil || !known || target.Address.Reveal() != "https://hooks.example.com/path/geheim-pfad" ||
		target.Headers["X-Token"].Reveal() != "geheim-kopf" || target.Keys[0].Secret.Reveal() != made.Secret.Reveal() {
		t.Errorf("opened elsewhere: %+v %t %v", target, known, err)
	}
	if s := fmt.Sprintf("%+v %#v", target, *target); strings.Contains(s, "geheim") {
		t.Errorf("a target prints its secrets: %s", s)
	}
	for eventType, want := range map[string]int{"deploy.succeeded": 1, "deploy": 0, "error.group.created": 0} {
		if got := c.dir.Subscribed(p.Project.ID, eventType, time.Time{}); len(got) != want {
			t.Errorf("%s: %v", eventType, got)
		}
	}
	if got := c.dir.Subscribed(p.Project.ID, "deploy.failed", before); len(got) != 0 {
		t.Errorf("before it existed it took %v", got)
	}
	if err := c.DisableEndpoint(t.Context(), made.Endpoint.ID, "gone"); err != nil {
		t.Fatal(err)
	}
	if x, _ := c.dir.Endpoint(made.Endpoint.ID); x.Status != EndpointDisabled || x.DisabledReason != "gone" || len(c.dir.Subscribed(p.Project.ID, "deploy.failed", time.Time{})) != 0 {
		t.Errorf("disabled: %+v", x)
	}
	if err := c.DeleteEndpoint(t.Context(), httpapi.Principal{Admin: true}, made.Endpoint.ID); err != nil {
		t.Fatal(err)
	}
	if _, known, _ := c.dir.Target(made.Endpoint.ID); known {
		t.Error("a deleted endpoint is still there")
	}
}

func TestRotation(t *testing.T) {
	c := startNode(t, newMemLog())
	p, _ := c.CreateProject(t.Context(), httpapi.Principal{Admin: true}, "one")
	made := newEndpoint(t, c, p.Project.ID)
	second, err := c.RotateEndpoint(t.Context(), httpapi.Principal{Admin: true}, made.Endpoint.ID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	target, _, _ := c.dir.Target(made.Endpoint.ID)
	if len(target.Keys) != 2 || target.Version != 2 || target.Keys[0].Secret.Reveal() != second.Secret.Reveal() || !target.Keys[0].Until.IsZero() ||
		target.Keys[1].Secret.Reveal() != made.Secret.Reveal() || time.Until(target.Keys[1].Until) > time.Hour {
		t.Errorf("after a rotation: %+v", target)
	}
	if _, err := c.RotateEndpoint(t.Context(), httpapi.Principal{Admin: true}, made.Endpoint.ID, 0); err != nil {
		t.Fatal(err)
	}
	if target, _, _ = c.dir.Target(made.Endpoint.ID); len(target.Keys) != 1 {
		t.Errorf("after a rotation without overlap %d keys sign", len(target.Keys))
	}
	var last error
	for range maxSigningSecrets {
		_, last = c.RotateEndpoint(t.Context(), httpapi.Principal{Admin: true}, made.Endpoint.ID, time.Hour)
	}
	if last == nil {
		t.Error("secrets pile up without end")
	}
}

func TestEndpointSpecs(t *testing.T) {
	text := func(s string) *string { return &s }
	rate := func(f float64) *float64 { return &f }
	refused := func(*url.URL) error { return fmt.Errorf("blocked") }
	allowed := func(*url.URL) error { return nil }
	for name, c := range map[string]struct {
		spec  EndpointSpec
		check func(*url.URL) error
		field string
	}{
		"good":            {EndpointSpec{Kind: KindHTTP, URL: text("https://example.com/x"), Events: []string{"*", "deploy.*", "error.group.created"}, Rate: rate(0.5), Schedule: &[]int64{1, 60}}, allowed, ""},
		"kind":            {EndpointSpec{Kind: "fax"}, allowed, "kind"},
		"blocked":         {EndpointSpec{URL: text("https://example.com")}, refused, "url"},
		"relative":        {EndpointSpec{URL: text("/x")}, allowed, "url"},
		"fragment":        {EndpointSpec{URL: text("https://example.com/#x")}, allowed, "url"},
		"pattern":         {EndpointSpec{Events: []string{"*.created"}}, allowed, "events"},
		"reserved header": {EndpointSpec{Headers: &map[string]string{"webhook-id": "x"}}, allowed, "headers"},
		"host header":     {EndpointSpec{Headers: &map[string]string{"host": "x"}}, allowed, "headers"},
		"header line":     {EndpointSpec{Headers: &map[string]string{"X-A": "a\r\nX-B: b"}}, allowed, "headers"},
		"rate":            {EndpointSpec{Rate: rate(-1)}, allowed, "rate_per_second"},
		"schedule":        {EndpointSpec{Schedule: &[]int64{0}}, allowed, "schedule"},
		"status":          {EndpointSpec{Status: "paused"}, allowed, "status"},
	} {
		err := c.spec.check(c.check)
		if (err == nil) != (c.field == "") || err != nil && !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEndpointWalls(t *testing.T) {
	c := startNode(t, newMemLog())
	admin := httpapi.Principal{Admin: true}
	one, _ := c.CreateProject(t.Context(), admin, "one")
	two, _ := c.CreateProject(t.Context(), admin, "two")
	made := newEndpoint(t, c, one.Project.ID)
	r := newTestRouter(c)
	call := func(method, path, key, body string) int {
		req, _ := http.NewRequest(method, path, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
		return r(req)
	}
	path := "/api/webhooks/endpoints/" + made.Endpoint.ID
	for _, k := range []struct {
		key  Secret
		want [4]int
	}{{two.APIKey, [4]int{404, 404, 404, 404}}, {one.APIKey, [4]int{200, 200, 200, 204}}} {
		got := [4]int{
			call("GET", "/api/webhooks/endpoints?project_id="+one.Project.ID, k.key.Reveal(), ""),
			call("PATCH", path, k.key.Reveal(), `{"rate_per_second":5,"headers":null}`),
			call("POST", path+"/rotate", k.key.Reveal(), ""),
			call("DELETE", path, k.key.Reveal(), ""),
		}
		if got != k.want {
			t.Errorf("statuses %v, want %v", got, k.want)
		}
	}
}

// newTestRouter serves the endpoint routes and answers with the status.
func newTestRouter(c *Commands) func(*http.Request) int {
	r := chi.NewRouter()
	c.EndpointRoutes(r, EndpointOptions{})
	return func(req *http.Request) int {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		return w.Code
	}
}
