package httpapi

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

const theSecret = "weir_SECRETsecret"

// server has one route for each way a request can end; all of it is logged.
func server(t *testing.T) (url string, log *bytes.Buffer, o *Observer) {
	t.Helper()
	log = &bytes.Buffer{}
	o = NewObserver(slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), prometheus.NewRegistry())
	r := chi.NewRouter()
	r.Use(o.Middleware)
	r.NotFound(NotFoundHandler)
	r.MethodNotAllowed(MethodNotAllowedHandler)
	r.With(RequireScope(fakeKeys{theSecret: {ProjectID: "prj_a", KeyID: "k1", Scopes: ScopeAll}}, ScopeRead)).
		Get("/things/{id}", func(w http.ResponseWriter, r *http.Request) { WriteJSON(w, 200, RequestID(r.Context())) })
	r.Get("/broken", func(w http.ResponseWriter, r *http.Request) { WriteError(w, r, errors.New("disk on fire")) })
	r.Get("/panic", func(http.ResponseWriter, *http.Request) { panic(struct{ S string }{theSecret}) })
	r.Get("/late-panic", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic("late")
	})
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	return s.URL, log, o
}

func call(t *testing.T, method, url string, header http.Header) (int, http.Header, string, error) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(b), err
}

func TestObserver(t *testing.T) {
	url, log, o := server(t)
	bearer := http.Header{"Authorization": {"Bearer " + theSecret}, "X-Request-Id": {"client-7"}}
	status, header, body, _ := call(t, "GET", url+"/things/"+theSecret+"?key="+theSecret, bearer)
	if status != 200 || header.Get(HeaderRequestID) != "client-7" || body != "\"client-7\"\n" {
		t.Errorf("%d %v %s", status, header, body)
	}
	status, _, body, _ = call(t, "GET", url+"/broken", nil)
	if status != 500 || strings.Contains(body, "fire") {
		t.Errorf("%d %s", status, body)
	}
	status, header, body, _ = call(t, "GET", url+"/panic", http.Header{"X-Request-Id": {theSecret}})
	if status != 500 || header.Get("Content-Type") != "application/problem+json" || !strings.Contains(body, `"code":"internal"`) {
		t.Errorf("%d %s", status, body)
	}
	if _, _, _, err := call(t, "GET", url+"/late-panic", nil); err == nil {
		t.Error("a response broken off by a panic must not look whole")
	}
	if status, _, _, _ := call(t, "GET", url+"/nowhere/"+theSecret, nil); status != 404 {
		t.Errorf("%d", status)
	}
	if status, _, _, _ := call(t, "DELETE", url+"/broken", nil); status != 405 {
		t.Errorf("%d", status)
	}

	text := log.String()
	if strings.Contains(text, theSecret) {
		t.Errorf("a secret is in the log:\n%s", text)
	}
	for _, want := range []string{`"route":"/things/{id}"`, `"project":"prj_a"`, `"key":"k1"`, `"error":"disk on fire"`, `"stack":`, `"route":"unmatched"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the log has no %s:\n%s", want, text)
		}
	}
	for labels, want := range map[[3]string]float64{
		{"/things/{id}", "GET", "200"}: 1, {"/broken", "GET", "500"}: 1, {"/panic", "GET", "500"}: 1, {"unmatched", "GET", "404"}: 1,
	} {
		if got := testutil.ToFloat64(o.requests.WithLabelValues(labels[:]...)); got != want {
			t.Errorf("%v: counted %v", labels, got)
		}
	}
	if got := testutil.ToFloat64(o.panics); got != 2 {
		t.Errorf("%v panics", got)
	}
}

func TestRequestIDIsPlain(t *testing.T) {
	for id, taken := range map[string]bool{
		"a": true, "0b-1.c": true, "": false, theSecret: false, "a b": false, "a\"b": false, strings.Repeat("a", 65): false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set(HeaderRequestID, id)
		if got := requestID(r); (got == id) != taken || got == "" {
			t.Errorf("%q: got %q", id, got)
		}
	}
}
