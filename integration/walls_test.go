package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// key is what `weir key create --json` prints.
type key struct {
	ID     string `json:"key_id"`
	APIKey string `json:"api_key"`
	Scopes []string
}

// sendOne sends one event of a type, which must be accepted, and returns where it is in the log.
func sendOne(t testing.TB, s *server, who credentials, e event) (position string) {
	t.Helper()
	a, err := post(s.base(), who, []byte(`{"events":[`+e.json()+`]}`), "")
	if err != nil || a.status != http.StatusOK || string(a.body) != `{"accepted":1,"rejected":[]}` {
		t.Fatalf("sending %s: %s %v", e.json(), a, err)
	}
	if position = a.header.Get("X-Service-Log-Position"); position == "" {
		t.Fatalf("the answer %s has no X-Service-Log-Position", a)
	}
	return position
}

// A revoked key is refused within a second, and from then on for good; other keys go on.
func TestRevokedKey(t *testing.T) {
	t.Parallel()
	rng, _ := seeded(t)
	s := serve(t, unlimited...)
	who := s.project("revoked")
	var made key
	s.admin(&made, "key", "create", "--project", who.ProjectID, "--name", "short-lived")
	lived := credentials{who.ProjectID, made.APIKey, who.WebhookSecret}
	sendOne(t, s, lived, newEvent(rng, "before", "log"))
	s.admin(nil, "key", "revoke", "--project", who.ProjectID, made.ID)
	revoked := time.Now()
	for _, ask := range []func() (answer, error){
		func() (answer, error) { return post(s.base(), lived, []byte(`{"events":[]}`), "") },
		func() (answer, error) { return get(s.base(), lived.APIKey, "/api/events", nil) },
	} {
		eventually(t, time.Second-time.Since(revoked), "a revoked key is refused", func() error {
			a, err := ask()
			if err == nil && a.status != http.StatusUnauthorized {
				err = fmt.Errorf("%s", a)
			}
			return err
		})
		for range 20 {
			if a, err := ask(); err != nil || a.status != http.StatusUnauthorized {
				t.Fatalf("a revoked key that was refused works again: %s %v", a, err)
			}
		}
	}
	sendOne(t, s, who, newEvent(rng, "after", "log"))
	s.kill()
	s.start()
	if a, err := post(s.base(), lived, []byte(`{"events":[]}`), ""); err != nil || a.status != http.StatusUnauthorized {
		t.Errorf("a revoked key after a restart: %s %v", a, err)
	}
}

// A key does what its scopes say and nothing more.
func TestScopes(t *testing.T) {
	t.Parallel()
	s := serve(t)
	who := s.project("scopes")
	var keys []key
	for _, scope := range []string{"ingest", "read", "manage"} {
		var made key
		s.admin(&made, "key", "create", "--project", who.ProjectID, "--scopes", scope)
		keys = append(keys, made)
	}
	project := "/api/projects/" + who.ProjectID
	for i, want := range []struct{ ingest, read, manage int }{{200, 403, 403}, {403, 200, 403}, {403, 403, 200}} {
		k := keys[i]
		a, err := post(s.base(), credentials{who.ProjectID, k.APIKey, who.WebhookSecret}, []byte(`{"events":[]}`), "")
		expectStatus(t, fmt.Sprintf("POST /api/ingest with scopes %v", k.Scopes), a, err, want.ingest)
		for path, query := range readEndpoints() {
			a, err := get(s.base(), k.APIKey, path, query)
			expectStatus(t, fmt.Sprintf("GET %s with scopes %v", path, k.Scopes), a, err, want.read)
		}
		a, err = get(s.base(), k.APIKey, project+"/keys", nil)
		expectStatus(t, fmt.Sprintf("GET %s/keys with scopes %v", project, k.Scopes), a, err, want.manage)
		for _, path := range []string{"/api/projects", "/api/projections", "/api/doctor"} {
			a, err := get(s.base(), k.APIKey, path, nil)
			expectStatus(t, fmt.Sprintf("GET %s with a project's key", path), a, err, http.StatusForbidden)
		}
	}
}

func expectStatus(t testing.TB, what string, a answer, err error, status int) {
	t.Helper()
	if err == nil && a.status >= 400 {
		_, err = a.problem()
	}
	if err != nil || a.status != status {
		t.Errorf("%s: got %s %v, expected %d", what, a, err, status)
	}
}

// No key of one project reads another's data, under any address.
func TestProjectsAreWalls(t *testing.T) {
	t.Parallel()
	rng, _ := seeded(t)
	s := serve(t, unlimited...)
	ours, theirs := s.project("ours"), s.project("theirs")
	for _, kind := range kinds {
		sendOne(t, s, theirs, newEvent(rng, "theirs-"+kind, kind))
	}
	folded(t, s, adminToken(t, s), s.doctor().Log.Brokers, time.Minute)
	paths := readEndpoints()
	paths["/api/performance/series"] = url.Values{"metric": {"latency"}}
	paths["/api/events/tail"] = url.Values{}
	for path, query := range paths {
		query.Set("project_id", theirs.ProjectID)
		a, err := get(s.base(), ours.APIKey, path, query)
		expectStatus(t, "GET "+path+" of another project", a, err, http.StatusNotFound)
		query.Set("project_id", "prj_doesnotexist0")
		b, err := get(s.base(), ours.APIKey, path, query)
		expectStatus(t, "GET "+path+" of no project", b, err, http.StatusNotFound)
		if path == "/api/events/tail" {
			continue // it does not end by itself
		}
		query.Del("project_id")
		c, err := get(s.base(), ours.APIKey, path, query)
		expectStatus(t, "GET "+path+" of our own", c, err, http.StatusOK)
	}
	for _, path := range theirResources(t, s, theirs) {
		a, err := get(s.base(), theirs.APIKey, path, nil)
		expectStatus(t, "GET "+path+" by its owner", a, err, http.StatusOK)
		a, err = get(s.base(), ours.APIKey, path, nil)
		expectStatus(t, "GET "+path+" by another project", a, err, http.StatusNotFound)
	}
	if items := history(t, s.base(), ours); len(items) != 0 {
		t.Errorf("a project without events reads %d: %v", len(items), items[0])
	}
	if items := history(t, s.base(), theirs); len(items) != len(kinds) {
		t.Errorf("the owner reads %d events, expected %d", len(items), len(kinds))
	}
}

// theirResources are the addresses of single things that belong to a project.
func theirResources(t *testing.T, s *server, theirs credentials) []string {
	t.Helper()
	groups, err := pages[group](s.base(), theirs.APIKey, "/api/errors/groups", nil)
	if err != nil || len(groups) != 1 {
		t.Fatalf("expected one group: %v %v", groups, err)
	}
	deliveries, err := pages[delivery](s.base(), theirs.APIKey, "/api/webhooks/deliveries", nil)
	if err != nil || len(deliveries) != 1 {
		t.Fatalf("expected one delivery: %v %v", deliveries, err)
	}
	project := "/api/projects/" + theirs.ProjectID
	return []string{"/api/errors/groups/" + groups[0].Fingerprint, "/api/webhooks/deliveries/" + deliveries[0].ID, project, project + "/keys"}
}

// A read that sends X-Service-Log-Position back sees the batch, while others write and read.
func TestReadYourWrites(t *testing.T) {
	t.Parallel()
	rng, seed := seeded(t)
	s := serve(t, unlimited...)
	busy, who := s.project("busy"), s.project("mine")
	l := &load{seed: seed, largest: 100, who: busy, keyed: true, ledger: &ledger{}, bases: func() []string { return []string{s.base()} }}
	ctx, cancel := context.WithCancel(context.Background())
	wait := l.start(ctx)
	defer wait()
	defer cancel()
	l.ledger.reaches(t, 500)
	late := 0
	for n := range sized(15, 400) {
		late += readsOwn(t, s, who, rng, fmt.Sprintf("mine-%d", n))
	}
	t.Logf("%d reads of own writes while %d other events were answered; %d were told to ask again", sized(15, 400), l.ledger.answeredEvents(), late)
	if wrong := l.ledger.objections(); wrong != "" {
		t.Errorf("answers to the other clients: %s", wrong)
	}
}

// readsOwn sends an event and reads it back at once where its type is read; a 503 that says that
// the fold is late is allowed, a read that does not see it is not.
func readsOwn(t *testing.T, s *server, who credentials, rng *rand.Rand, marker string) (late int) {
	t.Helper()
	e := newEvent(rng, marker, "")
	position := sendOne(t, s, who, e)
	reads := map[string]url.Values{"/api/events": {"type": {e.kind}, "q": {marker}, "project_id": {who.ProjectID}}}
	if e.kind == "webhook" {
		reads["/api/webhooks/deliveries"] = url.Values{"limit": {"200"}}
	}
	for path, query := range reads {
		var a answer
		eventually(t, time.Minute, "GET "+path+" at "+position, func() (err error) {
			if a, err = getAt(s.base(), who.APIKey, path, query, position); err == nil && a.status != http.StatusOK {
				late++
				_, err = a.problem()
				return fmt.Errorf("%s %v", a, err)
			}
			return err
		})
		if !holds(a.body, e) {
			t.Errorf("GET %s with the position %s does not see %s: %s", path, position, e.json(), a)
		}
	}
	return late
}

// holds tells whether a page has the event's data or its delivery.
func holds(body []byte, e event) bool {
	var page struct {
		Data []struct {
			Data        json.RawMessage
			Destination string
		}
	}
	if json.Unmarshal(body, &page) != nil {
		return false
	}
	for _, item := range page.Data {
		if string(item.Data) == e.data || item.Destination == "to "+e.marker {
			return true
		}
	}
	return false
}
