package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// proofLine is a line of `weir prove --json`.
type proofLine struct {
	Projection, Topic, Table, Difference string
	Expected, Quarantined, Rows          int
}

type proof struct {
	Equal    bool
	Accepted []struct{ Events int }
	Lines    []proofLine
	Receipts struct {
		Batches, Accepted int
		InLog             int `json:"in_log"`
	}
}

// wrong lists the tables with a difference, each once.
func (p proof) wrong() (tables []string) {
	for _, l := range p.Lines {
		if l.Difference != "" && !slices.Contains(tables, l.Table) {
			tables = append(tables, l.Table)
		}
	}
	return tables
}

// ask runs a statement in ClickHouse behind the server's back.
func (s *server) ask(sql string) string {
	s.t.Helper()
	at := s.doctor().ClickHouse
	access := embeddedAccess(s.t, s, at.Native)
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://"+at.HTTP+"/?database=weir", strings.NewReader(sql))
	if err != nil {
		s.t.Fatal(err)
	}
	r.SetBasicAuth(access.User, access.Password)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s %s %v", sql, a.Status, text, err)
	}
	return strings.TrimSpace(string(text))
}

// tampered is one row that was changed, deleted or doubled by hand.
type tampered struct{ table, what, do string }

// tampering is every way to harm every table of every projection. Values are chosen in the
// statements, so that whatever is there is harmed.
func tampering() []tampered {
	fence := func(projection string) string { return " SETTINGS log_comment = '" + projection + ":1'" }
	plain := func(projection, table, change string) []tampered {
		row := "`offset` = (SELECT min(`offset`) FROM " + table + ") AND project_id = (SELECT min(project_id) FROM " + table + ")"
		return []tampered{
			{table, "changed", "ALTER TABLE " + table + " UPDATE " + change + " WHERE " + row + " SETTINGS mutations_sync = 2"},
			{table, "deleted", "ALTER TABLE " + table + " DELETE WHERE " + row + " SETTINGS mutations_sync = 2"},
			{table, "doubled", "INSERT INTO " + table + fence(projection) + " SELECT * FROM " + table + " WHERE " + row + " LIMIT 1"},
		}
	}
	sums := func(projection, table, column string) []tampered {
		first := " ORDER BY ALL LIMIT 1"
		return []tampered{
			{table, "changed", "ALTER TABLE " + table + " UPDATE " + column + " = " + column + " + 1 WHERE project_id != '' SETTINGS mutations_sync = 2"},
			{table, "deleted", "ALTER TABLE " + table + " DELETE WHERE project_id = (SELECT min(project_id) FROM " + table + ") SETTINGS mutations_sync = 2"},
			{table, "doubled", "INSERT INTO " + table + fence(projection) + " SELECT * FROM " + table + first},
		}
	}
	all := plain("history", "events", "data = concat(data, ' ')")
	all = append(all, plain("errorgroups", "error_occurrences", "message = concat(message, ' ')")...)
	all = append(all, sums("errorgroups", "error_groups", "count")...)
	all = append(all, sums("errorgroups", "error_group_hours", "count")...)
	all = append(all, sums("errorgroups", "error_group_facets", "count")...)
	all = append(all, plain("deliveries", "delivery_attempts", "status_code = status_code + 1")...)
	all = append(all, sums("deliveries", "deliveries", "attempt_count")...)
	all = append(all, sums("costs", "cost_rollups", "events")...)
	all = append(all, sums("rejections", "rejections", "number")...)
	return all
}

// What the log holds is what every read model shows, and a row that is changed, deleted or doubled by
// hand in any table is found: each by verify, each deleted or doubled one by prove. What verify found
// is known after a restart.
func TestProveAndVerifyFindWhatIsTampered(t *testing.T) {
	_, seed := seeded(t)
	s := serve(t, unlimited...)
	who := s.project("prove")
	token := adminToken(t, s)
	l := &load{seed: seed, total: sized(1500, 20_000), largest: 120, keyed: true, who: who, ledger: &ledger{},
		bases: func() []string { return []string{s.base()} }}
	l.start(t.Context())()
	if a, err := post(s.base(), who, []byte(`{"events":[{"type":"audit","ts":"2026-11-21T12:00:00Z","data":{"action":"no actor"}}]}`), ""); err != nil || a.status != http.StatusOK {
		t.Fatal(a, err)
	}
	appendGarbage(t, s.doctor().Log.Brokers, "weir.events.cost", "no JSON")
	folded(t, s, token, s.doctor().Log.Brokers, time.Minute)
	eventually(t, time.Minute, "the rejection is told", func() error {
		if s.ask("SELECT count() FROM rejections") == "0" {
			return fmt.Errorf("not yet")
		}
		return nil
	})

	var p proof
	s.admin(&p, "prove", "--project", who.ProjectID)
	events := 0
	for _, a := range p.Accepted {
		events += a.Events
	}
	if want := l.ledger.answeredEvents(); !p.Equal || events != want || p.Receipts.Accepted != want || p.Receipts.InLog != want {
		t.Errorf("seed %d: %d events were answered; weir prove: %+v", seed, want, p)
	}
	o := weir(t, s.env, "prove", "--project", who.ProjectID, "--server", s.base(), "--data", s.data)
	if o.code != 0 || !strings.Contains(o.stdout, "cost_rollups") {
		t.Errorf("weir prove: exit code %d, said %s %s", o.code, o.stdout, o.stderr)
	}
	if o := weir(t, s.env, "prove", "--project", "prj_unknown", "--server", s.base(), "--data", s.data); o.code != 1 {
		t.Errorf("weir prove of an unknown project: exit code %d, said %s %s", o.code, o.stdout, o.stderr)
	}
	for _, harm := range tampering() {
		s.finds(harm, who.ProjectID)
	}

	s.stop(syscall.SIGINT)
	s.start()
	a, err := get(s.base(), token, "/api/projections/costs/verify", url.Values{})
	var kept struct {
		State  string
		Result struct{ Projection string }
	}
	if err != nil || a.status != http.StatusOK || json.Unmarshal(a.body, &kept) != nil || kept.State != "done" || kept.Result.Projection != "costs" {
		t.Errorf("after a restart: %s %v", a, err)
	}
}

// finds harms a table, which verify and prove must tell, and puts it right again.
func (s *server) finds(harm tampered, project string) {
	s.t.Helper()
	projection := map[string]string{
		"events": "history", "delivery_attempts": "deliveries", "deliveries": "deliveries", "cost_rollups": "costs", "rejections": "rejections",
	}[harm.table]
	if projection == "" {
		projection = "errorgroups"
	}
	s.ask("CREATE TABLE saved CLONE AS " + harm.table)
	s.ask(harm.do)
	o := weir(s.t, s.env, "verify", projection, "--server", s.base(), "--data", s.data)
	if o.code != 1 || !strings.Contains(o.stdout, "  "+harm.table+", project ") {
		s.t.Errorf("weir verify %s after a row of %s was %s: exit code %d, said %s %s", projection, harm.table, harm.what, o.code, o.stdout, o.stderr)
	}
	counted := harm.what != "changed" && harm.table != "error_group_facets"
	o = weir(s.t, s.env, "prove", "--project", project, "--json", "--wait", "5s", "--server", s.base(), "--data", s.data)
	var p proof
	if err := json.Unmarshal([]byte(o.stdout), &p); err != nil {
		s.t.Fatalf("weir prove: %v: %s %s", err, o.stdout, o.stderr)
	}
	if wrong := fmt.Sprint(p.wrong()); counted && (o.code != 1 || wrong != "["+harm.table+"]") {
		s.t.Errorf("weir prove after a row of %s was %s: exit code %d, names %s", harm.table, harm.what, o.code, wrong)
	}
	s.ask("EXCHANGE TABLES saved AND " + harm.table)
	s.ask("DROP TABLE saved SYNC")
}
