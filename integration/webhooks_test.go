package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// notices are deliveries that a receiver verified with a public library.
type notices struct {
	*httptest.Server
	verify *standardwebhooks.Webhook // set before anything is sent
	mu     sync.Mutex
	got    []notice
	bad    int
}

type notice struct {
	id   string
	Type string         `json:"type"`
	Data map[string]any `json:"data"`
}

func newNotices(t *testing.T) *notices {
	n := &notices{}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		one := notice{id: r.Header.Get("webhook-id")}
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.verify.Verify(body, r.Header) != nil || json.Unmarshal(body, &one) != nil {
			n.bad++
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		n.got = append(n.got, one)
	}))
	t.Cleanup(n.Close)
	return n
}

// of are the notices of a type.
func (n *notices) of(kind string) []notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(n.got), func(one notice) bool { return one.Type != kind })
}

// come waits for the notices of a type, as many as said.
func (n *notices) come(t *testing.T, kind string, count int) []notice {
	t.Helper()
	err := until(startPatience, func() error {
		if got := n.of(kind); len(got) != count {
			return fmt.Errorf("%d notices of %s instead of %d: %v", len(got), kind, count, got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n.of(kind)
}

// TestNoticesOfStates follows a group that comes back and a month that goes over its
// budget: each is told once, when it became so, and neither a kill nor a rebuild tells it again.
func TestNoticesOfStates(t *testing.T) {
	t.Parallel()
	s := serve(t, "WEIR_WEBHOOKS_ALLOW_CIDRS=127.0.0.0/8")
	who := s.project("notices")
	r := &reporter{t: t, s: s, key: who.APIKey}
	to := newNotices(t)
	made := r.post("/api/webhooks/endpoints", map[string]any{"url": to.URL, "events": []string{"error.group.*", "cost.*", "deploy.*"}}, http.StatusCreated)
	var err error
	if to.verify, err = standardwebhooks.NewWebhook(made["secret"].(string)); err != nil {
		t.Fatal(err)
	}
	status := func(print, more string) {
		t.Helper()
		r.post("/api/errors/groups/"+print+"/status", `{`+more+`}`, http.StatusOK)
	}

	pay := r.capture(map[string]any{"name": "PayError", "message": "card 4711 declined", "release": "1.0.0"})
	to.come(t, "error.group.created", 1)
	status(pay, `"status":"resolved","resolved_in_release":"1.1.0"`)
	r.capture(map[string]any{"name": "PayError", "message": "card 1 declined", "release": "1.0.9"}) // no regression
	r.capture(map[string]any{"name": "PayError", "message": "card 2 declined", "release": "1.1.0"})
	r.capture(map[string]any{"name": "PayError", "message": "card 3 declined", "release": "1.2.0"})
	back := to.come(t, "error.group.regressed", 1)[0]
	if back.Data["fingerprint"] != pay || back.Data["resolved_in_release"] != "1.1.0" || back.Data["resolved_at"] == nil || back.Data["release"] == "1.0.9" {
		t.Errorf("told: %v", back.Data)
	}
	r.is(pay, "regressed", 4)

	// A merged group comes back under the name of what it is part of.
	ship := r.capture(map[string]any{"name": "ShipError", "message": "no address"})
	boat := r.capture(map[string]any{"name": "BoatError", "message": "no harbour"})
	r.post("/api/errors/groups/"+boat+"/merge", map[string]string{"into": ship}, http.StatusOK)
	status(ship, `"status":"resolved"`)
	r.is(boat, "resolved", 2)
	time.Sleep(2 * time.Millisecond) // an event of the decision's own millisecond may be of before
	r.capture(map[string]any{"name": "BoatError", "message": "no harbour"})
	if back := to.come(t, "error.group.regressed", 2)[1]; back.Data["fingerprint"] != ship {
		t.Errorf("a merged group: told %v", back.Data)
	}

	budget := r.post("/api/cost/budgets", `{"name":"cloud","amount":"100.10","currency":"EUR","provider":"aws"}`, http.StatusCreated)
	month := time.Now().UTC().Format("2006-01")
	spend := func(provider, amount, currency string) {
		t.Helper()
		body := fmt.Sprintf(`{"events":[{"type":"cost","ts":"%s","data":{"provider":%q,"service":"s3","amount":%s,"currency":%q,"period":"%s"}}]}`,
			time.Now().UTC().Format(time.RFC3339Nano), provider, amount, currency, month)
		if a, err := post(s.base(), who, []byte(body), ""); err != nil || a.status != http.StatusOK {
			t.Fatalf("a cost: %v %s", err, a)
		}
	}
	spend("aws", "100.1", "EUR") // all of it, and not over
	spend("gcp", "500", "EUR")
	spend("aws", "500", "USD")
	spend("aws", "0.00000001", "EUR")
	over := to.come(t, "cost.budget.exceeded", 1)[0]
	if over.Data["budget_id"] != budget["id"] || over.Data["spent"] != "100.10000001" || over.Data["amount"] != "100.10" || over.Data["period"] != month {
		t.Errorf("told: %v", over.Data)
	}
	spend("aws", "10", "EUR")

	s.admin(nil, "rebuild", "errorgroups", "--accept")
	s.admin(nil, "rebuild", "costs", "--accept")
	s.kill()
	s.start()
	r.capture(map[string]any{"name": "PayError", "message": "card 5 declined", "release": "1.2.0"})
	spend("aws", "10", "EUR")
	// What comes after all that is told; by then whatever else was to be told has been.
	status(pay, `"status":"resolved"`)
	time.Sleep(2 * time.Millisecond)
	r.capture(map[string]any{"name": "PayError", "message": "card 6 declined", "release": "1.2.0"})
	to.come(t, "error.group.regressed", 3)
	change, err := http.NewRequest(http.MethodPatch, s.base()+"/api/cost/budgets/"+budget["id"].(string), strings.NewReader(`{"amount":"110"}`))
	if err != nil {
		t.Fatal(err)
	}
	change.Header.Set("Authorization", "Bearer "+who.APIKey)
	change.Header.Set("Content-Type", "application/json")
	if a, err := do(change); err != nil || a.status != http.StatusOK {
		t.Fatalf("changing the budget: %v %s", err, a)
	}
	spend("aws", "10", "EUR")
	to.come(t, "cost.budget.exceeded", 2)
	ids := map[string]bool{}
	for _, one := range append(to.of("error.group.regressed"), append(to.of("cost.budget.exceeded"), to.of("error.group.created")...)...) {
		ids[one.id] = true
	}
	if len(ids) != 3+2+3 || to.bad != 0 {
		t.Errorf("%d deliveries in all, want 8; %d did not verify", len(ids), to.bad)
	}
}
