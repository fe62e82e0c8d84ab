package readmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/readmodel/tables"
)

func (p *portal) lists(from int) *GroupLists {
	return NewGroupLists(GroupListsConfig{Conn: p.conn, From: from})
}

func (p *portal) refresh(l *GroupLists) {
	p.t.Helper()
	l.made = map[string]listMade{} // no rest between lists
	if err := l.Refresh(context.Background()); err != nil {
		p.t.Fatal(err)
	}
}

// decide folds one decision, as the projection triage would.
func (p *portal) decide(offset int64, group int, kind string, at time.Time, more ...any) {
	p.t.Helper()
	values := map[string]any{"project_id": "prj_one", "fingerprint": raw(fingerprint(group)), "offset": offset, "kind": kind, "decided_at": at,
		"decided_by": "admin", "reason": "", "release": "", "release_key": "", "until": time.Unix(0, 0).UTC(), "until_count": uint64(0),
		"merged_into": string(make([]byte, 16))}
	for i := 0; i < len(more); i += 2 {
		values[more[i].(string)] = more[i+1]
	}
	p.insert(tables.ErrorTriage(), 1, func(int) []any {
		var row []any
		for _, c := range tables.ErrorTriage().ColumnNames() {
			row = append(row, values[c])
		}
		return row
	})
}

// TestListsEqualGroups asks every question twice, of the list and of the groups
// themselves (a log position does that), and wants one answer.
func TestListsEqualGroups(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	p := newPortal(t)
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	hour := time.Now().UTC().Truncate(time.Hour)
	var all []occurs
	for range 400 {
		all = append(all, occurs{group: 1 + random.IntN(40), ts: hour.Add(-time.Duration(random.IntN(30*60)) * time.Minute),
			name: pick("A", "B", "Ä"), message: pick("x", "yes"), release: pick("", "1.0", "1.1", "r7"), env: pick("", "prod", "dev"), service: pick("", "web", "api")})
	}
	p.errors(all...)
	for i := range 30 {
		group := 1 + random.IntN(40)
		at := hour.Add(-time.Duration(random.IntN(40*60)) * time.Minute)
		switch random.IntN(6) {
		case 0:
			p.decide(int64(i), group, tables.TriageResolved, at)
		case 1:
			p.decide(int64(i), group, tables.TriageResolved, at, "release", pick("1.0", "1.1", "r7", "never"))
		case 2:
			p.decide(int64(i), group, tables.TriageIgnored, at, "until_count", uint64(random.IntN(20)))
		case 3:
			p.decide(int64(i), group, tables.TriageIgnored, at, "until", hour.Add(time.Duration(random.IntN(48)-24)*time.Hour))
		case 4:
			p.decide(int64(i), group, tables.TriageMerged, at, "merged_into", raw(fingerprint(1+random.IntN(40))))
		case 5:
			p.decide(int64(i), group, tables.TriageReopened, at)
		}
	}
	p.refresh(p.lists(1))
	for _, query := range []string{
		"", "order=asc", "sort=count", "sort=count&order=asc", "sort=first_seen", "status=resolved", "status=regressed,ignored", "status=unresolved&sort=count",
		"environment=prod", "release=1.1&service=web", "q=%C3%A4", "q=MAIN", "since=" + hour.Add(-5*time.Hour).Format(time.RFC3339),
		"until=" + hour.Add(-20*time.Hour).Format(time.RFC3339),
	} {
		list, groups := p.groupPages(query, 15, false), p.groupPages(query, 15, true)
		if !slices.Equal(list, groups) {
			t.Errorf("%q: %s", query, firstDifference(strings.Join(groups, "\n"), strings.Join(list, "\n")))
		}
		if query == "" && len(list) < 20 {
			t.Errorf("only %d groups", len(list))
		}
	}
	if asked := len(p.waits.asked); asked == 0 {
		t.Error("no read went to the groups themselves")
	}
	if !p.reader.listed.projects["prj_one"].exists {
		t.Error("no read went to the list")
	}
}

// groupPages reads a whole list page by page, each item as JSON.
func (p *portal) groupPages(query string, limit int, exact bool) (out []string) {
	p.t.Helper()
	path := fmt.Sprintf("/api/errors/groups?limit=%d&%s", limit, query)
	next := path
	for {
		var headers []string
		if exact {
			headers = []string{HeaderLogPosition, "error:0:1"}
		}
		resp, body := p.request("one", next, headers...)
		if resp.StatusCode != http.StatusOK {
			p.t.Fatalf("%s: %d %s", next, resp.StatusCode, body)
		}
		answer := decode(p.t, body)
		for _, item := range items(answer) {
			text, _ := json.Marshal(item)
			out = append(out, string(text))
		}
		cursor, more := answer["next_cursor"].(string)
		if !more {
			return out
		}
		next = path + "&cursor=" + cursor
	}
}

// TestListsFollow sees a change in the list after the next refresh, and stops
// trusting a list that nobody keeps.
func TestListsFollow(t *testing.T) {
	p := newPortal(t)
	l := p.lists(1)
	p.errors(occurs{group: 1, ts: noon, name: "A"}, occurs{group: 2, ts: noon.Add(time.Second), name: "B"})
	p.refresh(l)
	status := func() string { return names(items(p.get("one", "/api/errors/groups")), "status") }
	if got := status(); got != "unresolved unresolved" {
		t.Fatal(got)
	}
	p.decide(1, 2, tables.TriageResolved, noon.Add(time.Minute))
	p.refresh(l)
	if got := status(); got != "resolved unresolved" {
		t.Errorf("after a decision: %s", got)
	}
	p.errors(occurs{group: 3, ts: noon.Add(time.Hour), name: "C"})
	known := p.reader.listed.projects["prj_one"]
	known.checked, known.lastChanged = time.Time{}, time.Now().Add(-time.Hour)
	p.reader.listed.check(context.Background(), p.reader, "prj_one", known)
	if got := status(); got != "unresolved resolved unresolved" {
		t.Errorf("with a list that is not kept: %s", got)
	}
}
