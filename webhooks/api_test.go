package webhooks

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
)

// keys are bearers of two projects.
type keys struct{}

func (keys) Authenticate(bearer string) (httpapi.Principal, bool) {
	return httpapi.Principal{ProjectID: bearer, KeyID: "k", Scopes: httpapi.ScopeAll}, bearer == "prj" || bearer == "other"
}

// shelf is a history in memory.
type shelf map[string]kept

// kept is a delivery with its first attempt.
type kept struct {
	Past
	attempt PastAttempt
}

func (s shelf) Delivery(_ context.Context, project, id string) (Past, bool, error) {
	p, ok := s[id]
	return p.Past, ok && p.ProjectID == project, nil
}

func (s shelf) Failed(_ context.Context, _, endpoint string, _ time.Time, limit int) ([]Past, int, error) {
	var all []Past
	for _, p := range s {
		if p.EndpointID == endpoint && p.Status == statusExhausted {
			all = append(all, p.Past)
		}
	}
	return all[:min(limit, len(all))], len(all), nil
}

func (s shelf) Attempt(_ context.Context, project, id string, number int) (PastAttempt, bool, error) {
	p, ok := s[id]
	return p.attempt, ok && p.ProjectID == project && number == 1, nil
}

func TestAgain(t *testing.T) {
	log := openLog(t, startBroker(t))
	b := newBook()
	r := newReceiver(t, nil)
	b.add("ep_1", KindHTTP, r.URL)
	history := shelf{}
	router := chi.NewRouter()
	NewAPI(APIConfig{Log: log, Decider: NewDecider(log, b, nil), Auth: keys{}, Projects: func(string) bool { return true }, History: history}).Routes(router)
	call := func(key, path, body string) (int, recoverAnswer) {
		req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		router.ServeHTTP(w, req)
		var a recoverAnswer
		_ = json.Unmarshal(w.Body.Bytes(), &a)
		return w.Code, a
	}
	startLane(t, log, b)
	code, made := call("prj", "/api/webhooks/deliver", `{"event_type":"deploy.failed","payload":{"käse":[1,2]}}`)
	if code != http.StatusAccepted || len(made.Owed) != 1 {
		t.Fatalf("deliver: %d %+v", code, made)
	}
	id := made.Owed[0].ID
	first := r.next(t)
	await(t, log, id)
	history[id] = kept{Past: Past{ID: id, ProjectID: "prj", EndpointID: "ep_1", Status: statusExhausted, Attempts: 1}}
	if code, _ := call("other", "/api/webhooks/deliveries/"+id+"/redeliver", ""); code != http.StatusNotFound {
		t.Errorf("another project's delivery: %d", code)
	}
	if code, made := call("prj", "/api/webhooks/deliveries/"+id+"/redeliver", ""); code != http.StatusAccepted || len(made.Owed) != 1 || made.Owed[0].ID != id {
		t.Errorf("redeliver: %d %+v", code, made)
	}
	if again := r.next(t); again.id != first.id || again.body != first.body {
		t.Errorf("redelivered %+v, first %+v", again, first)
	}
	if code, a := call("prj", "/api/webhooks/endpoints/ep_1/recover", `{"since":"2026-01-01T00:00:00Z","dry_run":true}`); code != http.StatusOK || a.Found != 1 || a.Scheduled != 0 {
		t.Errorf("dry run: %d %+v", code, a)
	}
	if code, a := call("prj", "/api/webhooks/endpoints/ep_1/recover", `{"since":"2026-01-01T00:00:00Z"}`); code != http.StatusAccepted || a.Scheduled != 1 {
		t.Errorf("recover: %d %+v", code, a)
	}
	if again := r.next(t); again.id != first.id {
		t.Errorf("recovered %s", again.id)
	}
	b.add("ep_new", KindHTTP, r.URL)
	code, a := call("prj", "/api/webhooks/endpoints/ep_new/recover", `{"since":"2026-01-01T00:00:00Z","include":"missed"}`)
	if code != http.StatusAccepted || a.Scheduled != 1 {
		t.Errorf("missed: %d %+v", code, a)
	}
	if missed := r.next(t); missed.id == first.id || missed.body != first.body {
		t.Errorf("a new endpoint got %+v", missed)
	}
	history[id] = kept{Past: Past{ID: id, ProjectID: "prj", EndpointID: "ep_1", Status: statusRetrying}}
	for path, want := range map[string]int{
		"/api/webhooks/deliveries/" + id + "/redeliver": http.StatusConflict, "/api/webhooks/deliveries/dlv_x/redeliver": http.StatusNotFound,
		"/api/webhooks/endpoints/ep_x/test": http.StatusNotFound, "/api/webhooks/endpoints/ep_1/test": http.StatusAccepted,
	} {
		if code, _ := call("prj", path, ""); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
	if code, _ := call("other", "/api/webhooks/endpoints/ep_1/test", ""); code != http.StatusNotFound {
		t.Errorf("another project's endpoint: %d", code)
	}
}
