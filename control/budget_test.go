package control

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
)

func TestBudgets(t *testing.T) {
	log := newMemLog()
	c := startNode(t, log)
	one, err := c.CreateProject(t.Context(), httpapi.Principal{Admin: true}, "one")
	if err != nil {
		t.Fatal(err)
	}
	two, err := c.CreateProject(t.Context(), httpapi.Principal{Admin: true}, "two")
	if err != nil {
		t.Fatal(err)
	}
	router := chi.NewRouter()
	c.BudgetRoutes(router)
	call := func(key Secret, method, path, body string) (int, Budget, string) {
		req := httptest.NewRequest(method, path, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+key.Reveal())
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		router.ServeHTTP(w, req)
		var b Budget
		_ = json.Unmarshal(w.Body.Bytes(), &b)
		return w.Code, b, w.Body.String()
	}
	for body, field := range map[string]string{
		`{"currency":"EUR"}`: "amount", `{"amount":"-1","currency":"EUR"}`: "amount", `{"amount":"1e","currency":"EUR"}`: "amount",
		`{"amount":"0","currency":"EUR"}`: "amount", `{"amount":"1","currency":"EURO"}`: "currency", `{"amount":"1"}`: "currency",
		`{"amount":"1","currency":"EUR","service":"` + strings.Repeat("s", 300) + `"}`: "service",
	} {
		if code, _, text := call(one.APIKey, http.MethodPost, "/api/cost/budgets", body); code != http.StatusBadRequest || !strings.Contains(text, field) {
			t.Errorf("%s: %d %s", body, code, text)
		}
	}
	code, made, text := call(one.APIKey, http.MethodPost, "/api/cost/budgets", `{"name":"cloud","amount":"1.5e3","currency":"eur","provider":"aws"}`)
	if code != http.StatusCreated || made.Amount != "1500.00" || made.Currency != "EUR" || made.Provider == nil || *made.Provider != "aws" || made.Service != nil || made.Version != 1 {
		t.Fatalf("made: %d %s", code, text)
	}
	path := "/api/cost/budgets/" + made.ID
	for _, method := range []string{http.MethodPatch, http.MethodDelete} {
		if code, _, _ := call(two.APIKey, method, path, `{"amount":"2"}`); code != http.StatusNotFound {
			t.Errorf("another project's key: %s is %d", method, code)
		}
	}
	if code, b, text := call(one.APIKey, http.MethodPatch, path, `{"amount":"2000"}`); code != http.StatusOK || b.Version != 2 || b.Amount != "2000.00" || b.Name != "cloud" {
		t.Errorf("changed: %d %s", code, text)
	}
	before := len(log.snapshot())
	if code, b, _ := call(one.APIKey, http.MethodPatch, path, `{"amount":"2000.0"}`); code != http.StatusOK || b.Version != 2 || len(log.snapshot()) != before {
		t.Errorf("the same amount is a change: %d, version %d", code, b.Version)
	}
	if other := startNode(t, log).dir.Budgets(one.Project.ID); len(other) != 1 || other[0].Amount != "2000.00" {
		t.Errorf("another process sees %+v", other)
	}
	if code, _, text := call(two.APIKey, http.MethodGet, "/api/cost/budgets", ""); code != http.StatusOK || strings.Contains(text, made.ID) {
		t.Errorf("another project lists: %d %s", code, text)
	}
	if code, _, _ := call(one.APIKey, http.MethodDelete, path, ""); code != http.StatusNoContent || len(c.dir.Budgets(one.Project.ID)) != 0 {
		t.Errorf("deleted: %d", code)
	}
}
