package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
)

func TestProblemOf(t *testing.T) {
	inner := errors.New("dial tcp 10.0.0.7:9092: connection refused")
	for _, c := range []struct {
		name   string
		err    error
		status int
		code   Code
	}{
		{"ours", Errorf(CodeRateLimited, "slow down"), 429, CodeRateLimited},
		{"ours, wrapped", fmt.Errorf("handler: %w", NotFound("group")), 404, CodeNotFound},
		{"with a cause", Errorf(CodeUnavailable, "the log is away").Because(inner), 503, CodeUnavailable},
		{"the client left", fmt.Errorf("read: %w", context.Canceled), 499, CodeCanceled},
		{"too slow", context.DeadlineExceeded, 503, CodeUnavailable},
		{"anything else", inner, 500, CodeInternal},
		{"a code nobody defined", Errorf("made_up", "x"), 500, "made_up"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			WriteError(w, httptest.NewRequest("GET", "/", nil), c.err)
			var p Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			if w.Code != c.status || p.Status != c.status || p.Code != c.code {
				t.Errorf("got %d, body %+v", w.Code, p)
			}
			if p.Title == "" || p.Type != "urn:weir:problem:"+string(c.code) {
				t.Errorf("incomplete: %+v", p)
			}
			if strings.Contains(w.Body.String(), "10.0.0.7") {
				t.Error("inner detail reached the client")
			}
		})
	}
}

func TestEveryCodeHasAnErrorStatus(t *testing.T) {
	for code, k := range taxonomy {
		if k.status < 400 || k.status > 599 || k.title == "" {
			t.Errorf("%s: %+v", code, k)
		}
	}
}

func TestWriteProblemHeaders(t *testing.T) {
	w := httptest.NewRecorder()
	w.Header().Set(HeaderRequestID, "abc")
	WriteProblem(w, Problem{Code: CodeUnauthorized, RetryAfter: 1100 * time.Millisecond})
	want := map[string]string{
		"Content-Type": "application/problem+json", "WWW-Authenticate": `Bearer realm="weir"`,
		"Retry-After": "2", "Cache-Control": "no-store",
	}
	for name, value := range want {
		if got := w.Header().Get(name); got != value {
			t.Errorf("%s: got %q, want %q", name, got, value)
		}
	}
	const body = `{"type":"urn:weir:problem:unauthorized","title":"The bearer key is missing or invalid","status":401,"code":"unauthorized","request_id":"abc"}`
	if got := strings.TrimSpace(w.Body.String()); got != body {
		t.Errorf("got %s", got)
	}
}

func TestParamErrorsNameEach(t *testing.T) {
	err := ParamErrors(ParamProblem{"limit", "too large"}, ParamProblem{"from", "not a time"})
	if err.Detail != "limit: too large; from: not a time" || err.Code.Status() != http.StatusBadRequest {
		t.Errorf("%+v", err)
	}
}

func TestAllowNamesTheMethodsOfARoute(t *testing.T) {
	r := chi.NewRouter()
	r.MethodNotAllowed(MethodNotAllowedHandler)
	r.Get("/things/{id}", func(http.ResponseWriter, *http.Request) {})
	r.Delete("/things/{id}", func(http.ResponseWriter, *http.Request) {})
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/things/7", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, DELETE" {
		t.Errorf("%d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}
