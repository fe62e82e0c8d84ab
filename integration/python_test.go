package integration

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A client in another language, written from the specification alone, sees each status code with
// the meaning that the specification gives it.
func TestClientInPython(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	s := serve(t, "INGEST_RATE_LIMIT_BATCHES_PER_SECOND=30")
	who := s.project("python")
	cmd := exec.Command("python3", "testdata/client.py", s.base(), who.APIKey, who.WebhookSecret)
	o := finish(t, cmd, time.Minute)
	if o.code != 0 {
		t.Fatalf("the client failed: %s", o.stderr)
	}
	var got map[string]struct {
		Status  int
		Headers map[string]string
		Body    string
	}
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil {
		t.Fatalf("%v in %s", err, o.stdout)
	}
	const hello = `{"accepted":1,"rejected":[]}`
	for name, want := range map[string]struct {
		status int
		body   string // of a 200; the problem's code otherwise
	}{
		"all_types":               {200, `{"accepted":13,"rejected":[]}`},
		"upper_case_signature":    {200, hello},
		"charset":                 {200, hello},
		"partly_valid":            {200, `{"accepted":1,"rejected":[{"index":0,"reason":"data.actor: required"},{"index":2,"reason":"type: unknown value \"sausage\""}]}`},
		"no_events":               {200, `{"accepted":0,"rejected":[]}`},
		"first":                   {200, hello},
		"again":                   {200, hello},
		"again_with_another_body": {200, hello},
		"not_json":                {400, "invalid_json"},
		"events_missing":          {400, "events_missing"},
		"not_a_uuid":              {400, ""},
		"wrong_content_type":      {400, ""},
		"no_bearer":               {401, "unauthorized"},
		"wrong_bearer":            {401, "unauthorized"},
		"no_signature":            {403, "bad_signature"},
		"wrong_signature":         {403, "bad_signature"},
		"prefixed_signature":      {403, "bad_signature"},
		"too_large":               {413, "batch_too_large"},
		"limited":                 {429, "rate_limited"},
		"after_the_wait":          {200, hello},
	} {
		a := answer{got[name].Status, http.Header{}, []byte(got[name].Body)}
		for header, value := range got[name].Headers {
			a.header.Set(header, value)
		}
		if a.status != want.status {
			t.Errorf("%s: got %s, expected %d", name, a, want.status)
			continue
		}
		judge(t, name, a, want.body)
	}
	if got["first"].Headers["idempotent-replayed"] != "" || got["again"].Headers["idempotent-replayed"] != "true" {
		t.Errorf("Idempotent-Replayed is %q at first and %q the second time", got["first"].Headers["idempotent-replayed"], got["again"].Headers["idempotent-replayed"])
	}
}

// judge checks the body and headers that every answer of its kind has.
func judge(t *testing.T, name string, a answer, body string) {
	t.Helper()
	if a.status == http.StatusOK {
		if string(a.body) != body || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got %s (%s), expected %s", name, a, a.header.Get("Content-Type"), body)
		}
	} else if p, err := a.problem(); err != nil || (body != "" && p.Code != body) {
		t.Errorf("%s: got %s %v, expected the code %s", name, a, err, body)
	}
	if a.status == http.StatusOK || a.status == http.StatusTooManyRequests {
		if policy := a.header.Get("RateLimit-Policy"); policy != `"events";q=1000;w=1, "batches";q=30;w=1` {
			t.Errorf("%s: RateLimit-Policy is %s", name, policy)
		}
		if !strings.Contains(a.header.Get("RateLimit"), `"events";r=`) {
			t.Errorf("%s: RateLimit is %q", name, a.header.Get("RateLimit"))
		}
	}
}
