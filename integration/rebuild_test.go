package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// rebuildable are the projections whose read models are polled while they are rebuilt.
var rebuildable = []string{"history", "errorgroups", "deliveries", "costs"}

// rebuildState is what GET /api/projections tells of rebuilds.
type rebuildState struct {
	Name       string
	Generation int
	Rebuild    *struct {
		State       string
		WhatDiffers string `json:"what_differs"`
	}
}

// rebuilt waits until every projection is in generation want and nothing is being built.
func rebuilt(t *testing.T, s *server, token string, want int) {
	t.Helper()
	eventually(t, 2*time.Minute, fmt.Sprintf("generation %d is live everywhere", want), func() error {
		all, err := pages[rebuildState](s.base(), token, "/api/projections", url.Values{})
		var open []error
		for _, p := range all {
			for _, name := range rebuildable {
				if p.Name == name && (p.Generation != want || p.Rebuild != nil) {
					open = append(open, fmt.Errorf("%s is in generation %d, rebuild %+v", name, p.Generation, p.Rebuild))
				}
			}
		}
		return errors.Join(append(open, err)...)
	})
}

// poller asks for counts as fast as it can and says what no reader may see: an error that is not a
// server being away, nothing where something was, or less than before.
type poller struct {
	t     *testing.T
	who   credentials
	base  func() string
	reads int
	// strict says that the server is never away: every read must be answered, and none be empty.
	strict bool
	rest   time.Duration // between reads
}

func (p *poller) run(ctx context.Context, seed uint64) {
	var events, costs, errors int
	for ctx.Err() == nil {
		p.grows(ctx, seed, "/api/events/histogram", &events, func(item map[string]any) int { return number(item["count"]) })
		p.grows(ctx, seed, "/api/cost/rollups", &costs, func(item map[string]any) int { return number(item["events"]) })
		p.grows(ctx, seed, "/api/errors/groups", &errors, func(item map[string]any) int { return number(item["count"]) })
		rest := time.NewTimer(p.rest)
		<-rest.C
	}
}

func number(v any) int {
	f, _ := v.(float64)
	return int(f)
}

func (p *poller) grows(ctx context.Context, seed uint64, path string, before *int, of func(map[string]any) int) {
	now := time.Now().UTC()
	span := url.Values{"from": {now.AddDate(-1, 0, 0).Format("2006-01-02")}, "to": {now.AddDate(0, 0, 2).Format("2006-01-02")}}
	if strings.HasSuffix(path, "histogram") {
		span = url.Values{"from": {now.AddDate(-3, 0, 0).Format(time.RFC3339)}, "to": {now.AddDate(1, 0, 0).Format(time.RFC3339)}}
	}
	if strings.HasSuffix(path, "groups") {
		span = url.Values{"limit": {"200"}}
	}
	a, err := get(p.base(), p.who.APIKey, path, span)
	if p.strict && err != nil && ctx.Err() == nil {
		p.t.Errorf("seed %d: %s: %v", seed, path, err)
	}
	if p.strict && err == nil && a.status == http.StatusServiceUnavailable {
		p.t.Errorf("seed %d: %s: %s", seed, path, a)
	}
	if err != nil || a.status == http.StatusServiceUnavailable || ctx.Err() != nil {
		return // the server was killed, or is starting
	}
	if a.status != http.StatusOK {
		p.t.Errorf("seed %d: %s: %s", seed, path, a)
		return
	}
	var page struct{ Data []map[string]any }
	if err := json.Unmarshal(a.body, &page); err != nil {
		p.t.Errorf("seed %d: %s: %v", seed, path, err)
		return
	}
	sum := 0
	for _, item := range page.Data {
		sum += of(item)
	}
	if sum < *before || p.strict && sum == 0 {
		p.t.Errorf("seed %d: %s counts %d after %d", seed, path, sum, *before)
	}
	*before = sum
	p.reads++
}

// Every read model is rebuilt while events arrive, readers poll and the server is killed again and
// again. No reader sees less than before, the rebuilds end, and what is live is what the log gives.
func TestRebuildsWhileKilled(t *testing.T) {
	rng, seed := seeded(t)
	kills, total := sized(3, 20), sized(8_000, 100_000)
	s := serve(t, unlimited...)
	who := s.project("rebuild")
	token := adminToken(t, s)
	l := &load{seed: seed, total: total, largest: 120, keyed: true, who: who, ledger: &ledger{},
		bases: func() []string { return []string{s.base()} }}
	wait := l.start(context.Background())
	l.ledger.reaches(t, total/4)

	polling, stop := context.WithCancel(context.Background())
	defer stop()
	var readers sync.WaitGroup
	pollers := make([]*poller, 4)
	for i := range pollers {
		pollers[i] = &poller{t: t, who: who, base: s.base}
		readers.Go(func() { pollers[i].run(polling, seed) })
	}
	for _, name := range rebuildable {
		s.admin(nil, "rebuild", name, "--no-wait")
	}
	for range kills {
		moment := time.NewTimer(time.Duration(rng.Int64N(int64(1200 * time.Millisecond))))
		<-moment.C
		s.kill()
		s.start()
	}
	wait()
	rebuilt(t, s, token, 2)
	stop()
	readers.Wait()
	for _, p := range pollers {
		if p.reads == 0 {
			t.Error("a poller has read nothing")
		}
	}
	singleWitness(t, s, who, l.ledger, seed, true).verify()
	var v struct{ Equal bool }
	if s.admin(&v, "verify", "all"); !v.Equal {
		t.Error("weir verify all: not equal")
	}
	findsAChangedRow(t, s)
	s.stop(syscall.SIGINT)
}

// Every read model is rebuilt while events arrive and fifty readers poll: each read is answered, none is
// empty, no count goes back.
func TestRebuildsWhileFiftyReadersPoll(t *testing.T) {
	_, seed := seeded(t)
	s := serve(t, unlimited...)
	who := s.project("readers")
	token := adminToken(t, s)
	l := &load{seed: seed, total: sized(3_000, 50_000), largest: 60, keyed: true, who: who, ledger: &ledger{},
		bases: func() []string { return []string{s.base()} }}
	l.start(t.Context())()
	folded(t, s, token, s.doctor().Log.Brokers, time.Minute)

	polling, stop := context.WithCancel(t.Context())
	defer stop()
	var readers sync.WaitGroup
	pollers := make([]*poller, 50)
	for i := range pollers {
		pollers[i] = &poller{t: t, who: who, base: s.base, strict: true, rest: time.Second}
		readers.Go(func() { pollers[i].run(polling, seed) })
	}
	more := &load{seed: seed + 1, total: l.ledger.answeredEvents() + 500, largest: 10, keyed: true, who: who, ledger: l.ledger, bases: l.bases}
	wait := more.start(t.Context())
	for _, name := range rebuildable {
		s.admin(nil, "rebuild", name)
	}
	wait()
	rebuilt(t, s, token, 2)
	stop()
	readers.Wait()
	reads := 0
	for i, p := range pollers {
		if reads += p.reads; p.reads == 0 {
			t.Errorf("reader %d has read nothing", i)
		}
	}
	t.Logf("%d reads by %d readers", reads, len(pollers))
	var p proof
	if s.admin(&p, "prove", "--project", who.ProjectID); !p.Equal {
		t.Errorf("seed %d: weir prove: %v", seed, p.wrong())
	}
}

// findsAChangedRow changes one row by hand: verify names it and ends with exit code 1, and a rebuild
// that is accepted puts it right.
func findsAChangedRow(t *testing.T, s *server) {
	t.Helper()
	s.ask("ALTER TABLE weir.events UPDATE data = concat(data, ' ') WHERE event_id = (SELECT min(event_id) FROM weir.events) SETTINGS mutations_sync = 2")
	o := weir(t, s.env, "verify", "history", "--server", s.base(), "--data", s.data)
	if o.code != 1 || !strings.Contains(o.stdout, "changed") {
		t.Errorf("weir verify history: exit code %d, said %s %s", o.code, o.stdout, o.stderr)
	}
	o = weir(t, s.env, "rebuild", "history", "--server", s.base(), "--data", s.data)
	if o.code != 1 || !strings.Contains(o.stderr, "differ") {
		t.Errorf("weir rebuild history: exit code %d, said %s %s", o.code, o.stdout, o.stderr)
	}
	s.admin(nil, "rebuild", "history", "--accept")
	s.admin(nil, "verify", "history")
}
