package integration

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"testing"
	"time"
)

// readEndpoints are the reads of one project, each with parameters that it answers.
func readEndpoints() map[string]url.Values {
	now := time.Now().UTC()
	span := url.Values{"from": {now.Add(-time.Hour).Format(time.RFC3339)}, "to": {now.Format(time.RFC3339)}}
	return map[string]url.Values{
		"/api/events":              {},
		"/api/events/histogram":    span,
		"/api/errors/groups":       {},
		"/api/webhooks/deliveries": {},
		"/api/cost/rollups":        {},
	}
}

// While ClickHouse is frozen, and then killed, ingest goes on answering 200 and reads answer a
// clean 503. Afterwards nothing is missing or doubled.
func TestClickHouseAway(t *testing.T) {
	_, seed := seeded(t)
	away := time.Duration(sized(10, 120)) * time.Second
	s := serve(t, unlimited...)
	who := s.project("away")
	l := &load{seed: seed, largest: 8, keyed: true, who: who, ledger: &ledger{}, never503: true,
		bases: func() []string { return []string{s.base()} }}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	wait := l.start(ctx)
	l.ledger.reaches(t, 200)

	engine := engineOf(t, s)
	signalEngine(t, engine, syscall.SIGSTOP)
	before := l.ledger.answeredEvents()
	readsAnswer503(t, s, who, away)
	during := l.ledger.answeredEvents() - before
	if during < 10*int(away.Seconds()) {
		t.Errorf("only %d events were answered 200 in the %v without ClickHouse", during, away)
	}
	signalEngine(t, engine, syscall.SIGKILL)
	killed := time.Now()
	eventually(t, 30*time.Second, "reads answer again after the kill", func() error {
		a, err := get(s.base(), who.APIKey, "/api/events", nil)
		if err == nil && a.status != http.StatusOK {
			err = fmt.Errorf("%s", a)
		}
		return err
	})
	t.Logf("%d events answered 200 while ClickHouse was frozen for %v; reads are back %v after its kill",
		during, away, time.Since(killed).Round(time.Millisecond))
	cancel()
	wait()
	l.finish(t)
	singleWitness(t, s, who, l.ledger, seed, true).verify()
}

func signalEngine(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatalf("sending %v to ClickHouse: %v", sig, err)
	}
}

// readsAnswer503 reads every endpoint again and again for a time.
func readsAnswer503(t *testing.T, s *server, who credentials, during time.Duration) {
	t.Helper()
	end := time.Now().Add(during)
	var readers sync.WaitGroup
	for path, query := range readEndpoints() {
		readers.Go(func() {
			for asked := 0; asked == 0 || time.Now().Before(end); asked++ {
				began := time.Now()
				a, err := get(s.base(), who.APIKey, path, query)
				if err == nil && a.status == http.StatusServiceUnavailable {
					_, err = a.problem()
				} else if err == nil {
					err = fmt.Errorf("%s", a)
				}
				if took := time.Since(began); err != nil || took > 20*time.Second {
					t.Errorf("GET %s while ClickHouse is frozen: expected a clean 503 within 20 s; after %v: %v", path, took.Round(time.Millisecond), err)
					return
				}
			}
		})
	}
	readers.Wait()
}
