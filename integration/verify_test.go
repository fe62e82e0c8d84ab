package integration

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// witness compares a ledger with what the server shows, what ClickHouse holds and what the log has.
type witness struct {
	t       *testing.T
	server  *server // one with the role read
	who     credentials
	admin   string // admin token
	brokers []string
	// clickHouse asks ClickHouse directly for one number.
	clickHouse func(sql string) int
	ledger     *ledger
	seed       uint64
	// exactly says that every event sent must be there, because every batch was answered in the end.
	exactly bool
}

// verify fails the test with every difference it finds.
func (w *witness) verify() {
	t := w.t
	t.Helper()
	began := time.Now()
	if wrong := w.ledger.objections(); wrong != "" {
		t.Errorf("seed %d: answers that must not be:\n  %s", w.seed, wrong)
	}
	folded(t, w.server, w.admin, w.brokers, 2*time.Minute)
	present := w.checkLog()
	w.checkHistory(present)
	w.checkGroups(present)
	w.checkDeliveries(present)
	w.checkCosts(present)
	w.checkTables(present)
	w.checkStatus()
	w.checkSecrets()
	t.Logf("%d events answered 200, %d in the log, %d batches; compared in %v",
		w.ledger.answeredEvents(), len(present), len(w.ledger.batches), time.Since(began).Round(time.Millisecond))
}

func (w *witness) differ(what string, differences []string) {
	w.t.Helper()
	if len(differences) > 0 {
		w.t.Errorf("seed %d: %s, %d differences:\n  %s", w.seed, what, len(differences), shown(differences))
	}
}

// checkLog reads the log: it decides which unanswered events are kept. Everything else must then
// agree with it to the last one.
func (w *witness) checkLog() []*event {
	w.t.Helper()
	seen, sent := map[string]int{}, map[string]string{}
	for _, value := range logRecords(w.t, w.brokers, w.who.ProjectID) {
		var record struct{ Data marked }
		if err := json.Unmarshal([]byte(value), &record); err != nil {
			w.t.Errorf("a record of the log is no JSON: %v: %s", err, value)
		}
		seen[record.Data.Marker]++
		sent[record.Data.Marker] = value
	}
	present, differences := w.ledger.compare("the log", seen)
	for _, e := range present {
		if sent[e.marker] != e.json() {
			differences = append(differences, fmt.Sprintf("%s is not as it was sent:\n   sent %s\n   kept %s", e, e.json(), sent[e.marker]))
		}
	}
	if w.exactly {
		for _, b := range w.ledger.batches {
			if b.fate != answered {
				differences = append(differences, fmt.Sprintf("batch %s was never answered", b.name))
			}
		}
	}
	w.differ("the log", differences)
	return present
}

func (w *witness) checkHistory(present []*event) {
	w.t.Helper()
	seen, items, ids := map[string]int{}, map[string]historyItem{}, map[string]bool{}
	var differences []string
	for _, item := range history(w.t, w.server.base(), w.who) {
		marker, err := item.marker()
		if err != nil {
			differences = append(differences, err.Error())
			continue
		}
		if ids[item.EventID] {
			differences = append(differences, fmt.Sprintf("event id %s is there twice, now with marker %s", item.EventID, marker))
		}
		seen[marker]++
		items[marker], ids[item.EventID] = item, true
	}
	_, more := w.ledger.compare("GET /api/events", seen)
	differences = append(differences, more...)
	for _, e := range present {
		item, ok := items[e.marker]
		switch {
		case !ok:
			differences = append(differences, fmt.Sprintf("GET /api/events: %s is in the log and not in the history", e))
		case item.Type != e.kind || !item.TS.Equal(e.at) || string(item.Data) != e.data:
			differences = append(differences, fmt.Sprintf("GET /api/events: %s is not as it was sent:\n   sent %s\n   read %s %s %s", e, e.json(), item.Type, item.TS, item.Data))
		}
	}
	w.differ("the history", differences)
	w.checkHistogram(len(present))
}

func (w *witness) checkHistogram(events int) {
	w.t.Helper()
	now := time.Now().UTC()
	query := url.Values{"from": {now.AddDate(0, 0, -60).Format(time.RFC3339)}, "to": {now.AddDate(0, 0, 1).Format(time.RFC3339)}}
	a, err := get(w.server.base(), w.who.APIKey, "/api/events/histogram", query)
	if err != nil || a.status != http.StatusOK {
		w.t.Errorf("histogram: %v %v", a, err)
		return
	}
	var page struct {
		Data []struct {
			Count int
			Types map[string]int
		}
	}
	if err := json.Unmarshal(a.body, &page); err != nil {
		w.t.Errorf("histogram: %v in %s", err, a)
	}
	sum, byType := 0, 0
	for _, bucket := range page.Data {
		sum += bucket.Count
		for _, n := range bucket.Types {
			byType += n
		}
	}
	if sum != events || byType != events {
		w.t.Errorf("seed %d: the histogram counts %d events (%d by type), the log has %d", w.seed, sum, byType, events)
	}
}

func (w *witness) checkGroups(present []*event) {
	w.t.Helper()
	want, got := map[string]int{}, map[string]int{}
	for _, e := range present {
		if e.failure != "" {
			want[e.failure]++
		}
	}
	groups, err := pages[group](w.server.base(), w.who.APIKey, "/api/errors/groups", url.Values{"project_id": {w.who.ProjectID}})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, g := range groups {
		got[g.Name] += g.Count
	}
	var differences []string
	for _, name := range failureNames {
		if got[name] != want[name] {
			differences = append(differences, fmt.Sprintf("%s: counted %d times, the log has %d", name, got[name], want[name]))
		}
	}
	if len(groups) != len(want) {
		differences = append(differences, fmt.Sprintf("%d groups, expected %d: %+v", len(groups), len(want), groups))
	}
	w.differ("error groups", differences)
}

func (w *witness) checkDeliveries(present []*event) {
	w.t.Helper()
	all, err := pages[delivery](w.server.base(), w.who.APIKey, "/api/webhooks/deliveries", url.Values{"project_id": {w.who.ProjectID}})
	if err != nil {
		w.t.Fatal(err)
	}
	got := map[string][]delivery{}
	for _, d := range all {
		got[d.Destination] = append(got[d.Destination], d)
	}
	var differences []string
	for _, e := range present {
		if e.kind != "webhook" {
			continue
		}
		found := got["to "+e.marker]
		delete(got, "to "+e.marker)
		if len(found) != 1 || found[0].AttemptCount != 1 || found[0].LastStatusCode != e.status {
			differences = append(differences, fmt.Sprintf("%s: expected one delivery with one attempt and status code %d, got %+v", e, e.status, found))
		}
	}
	for destination, more := range got {
		differences = append(differences, fmt.Sprintf("%d deliveries to %q that the log does not have", len(more), destination))
	}
	w.differ("deliveries", differences)
}

func (w *witness) checkCosts(present []*event) {
	w.t.Helper()
	type sum struct {
		amount *big.Rat
		events int
	}
	want := map[costSum]*sum{}
	for _, e := range present {
		if e.kind != "cost" {
			continue
		}
		if want[e.cost] == nil {
			want[e.cost] = &sum{amount: new(big.Rat)}
		}
		want[e.cost].events++
		want[e.cost].amount.Add(want[e.cost].amount, exact(w.t, e.amount))
	}
	rollups, err := pages[rollup](w.server.base(), w.who.APIKey, "/api/cost/rollups", url.Values{"interval": {"month"}})
	if err != nil {
		w.t.Fatal(err)
	}
	var differences []string
	for _, r := range rollups {
		expected := want[r.costSum]
		delete(want, r.costSum)
		if expected == nil || expected.events != r.Events || expected.amount.Cmp(exact(w.t, r.Amount)) != 0 {
			differences = append(differences, fmt.Sprintf("%+v: %s from %d events, expected %+v", r.costSum, r.Amount, r.Events, expected))
		}
	}
	for missing := range want {
		differences = append(differences, fmt.Sprintf("no sum for %+v", missing))
	}
	w.differ("costs", differences)
}

// exact reads a decimal without any rounding.
func exact(t testing.TB, decimal string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(decimal)
	if !ok {
		t.Fatalf("%q is no number", decimal)
	}
	return r
}

// checkTables counts the rows themselves, behind the API's back.
func (w *witness) checkTables(present []*event) {
	w.t.Helper()
	count := map[string]int{}
	for _, e := range present {
		count[e.kind]++
	}
	project := " WHERE project_id = '" + w.who.ProjectID + "'"
	for sql, want := range map[string]int{
		"SELECT count() AS value FROM events" + project:                len(present),
		"SELECT uniqExact(event_id) AS value FROM events" + project:    len(present),
		"SELECT sum(count) AS value FROM error_groups" + project:       count["error"],
		"SELECT count() AS value FROM error_occurrences" + project:     count["error"],
		"SELECT sum(attempt_count) AS value FROM deliveries" + project: count["webhook"],
		"SELECT count() AS value FROM delivery_attempts" + project:     count["webhook"],
		"SELECT sum(events) AS value FROM cost_rollups" + project:      count["cost"],
		"SELECT count() AS value FROM quarantine" + project:            0,
	} {
		if got := w.clickHouse(sql); got != want {
			w.t.Errorf("seed %d: ClickHouse: %s is %d, expected %d", w.seed, sql, got, want)
		}
	}
}

// checkStatus waits until every module says that it is well and has nothing left to fold.
func (w *witness) checkStatus() {
	w.t.Helper()
	modules := []string{"ingest"}
	for _, kind := range kinds {
		modules = append(modules, strings.NewReplacer("error", "errors", "webhook", "webhooks").Replace(kind))
	}
	for _, module := range modules {
		eventually(w.t, 30*time.Second, "module "+module, func() error {
			a, err := get(w.server.base(), "", "/api/"+module+"/status", nil)
			if err != nil {
				return err
			}
			var status struct {
				Module, Status string
				Lag            int64 `json:"lag_records"`
			}
			if err := json.Unmarshal(a.body, &status); err != nil || a.status != http.StatusOK || status.Module != module || status.Status != "ok" || status.Lag != 0 {
				return fmt.Errorf("GET /api/%s/status: %s (%v)", module, a, err)
			}
			return nil
		})
	}
}

// checkSecrets looks for what must never be printed.
func (w *witness) checkSecrets() {
	w.t.Helper()
	printed := w.server.current().out.String()
	for name, secret := range map[string]string{"API key": w.who.APIKey, "webhook secret": w.who.WebhookSecret, "admin token": w.admin} {
		if strings.Contains(printed, secret) {
			w.t.Errorf("%s printed the %s", w.server.name, name)
		}
	}
	a, err := get(w.server.base(), "", "/metrics", nil)
	if err != nil || a.status != http.StatusOK || strings.Contains(string(a.body), w.who.APIKey) || !strings.Contains(string(a.body), "weir_") {
		w.t.Errorf("GET /metrics: %s %v", a, err)
	}
}
