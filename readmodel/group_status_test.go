package readmodel

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/projections/errorgroups/releases"
	"weir/readmodel/tables"
)

// act is a decision about a group, in the order of the log.
type act struct {
	kind, release string
	at            time.Time
	until         time.Time
	count         uint64
}

// sighting is one occurrence: when it can have happened at the latest, and where.
type sighting struct {
	at      time.Time
	release string
}

// expected is the status of a group said in Go, the plain way: firsts is when
// each release was first seen in the project.
func expected(acts []act, seen []sighting, firsts map[string]time.Time, now time.Time) string {
	var last *act
	for i := range acts {
		last = &acts[i]
	}
	if last == nil || last.kind == tables.TriageReopened {
		return "unresolved"
	}
	if last.kind == tables.TriageIgnored {
		over := last.until.Unix() > 0 && !last.until.After(now) || last.count > 0 && uint64(len(seen)) >= last.count
		if over {
			return "unresolved"
		}
		return "ignored"
	}
	for _, s := range seen {
		if s.at.After(last.at) && (last.release == "" || notBefore(s.release, last.release, firsts)) {
			return "regressed"
		}
	}
	return "resolved"
}

func notBefore(release, than string, firsts map[string]time.Time) bool {
	if release == "" || release == than {
		return release == than && release != ""
	}
	a, b := releases.Key(release), releases.Key(than)
	if a != "" && b != "" {
		return a >= b
	}
	first, known := firsts[than]
	return known && !firsts[release].Before(first)
}

// TestStatusInAnyOrder folds the same decisions and occurrences in several
// orders, in blocks that end anywhere, and wants the status that the rules give.
func TestStatusInAnyOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	now := time.Now().UTC().Truncate(time.Second)
	moment := func() time.Time { return now.Add(time.Duration(random.IntN(20)-20) * time.Minute) }
	versions := []string{"", "1.0.0", "1.1.0-rc.1", "1.1.0", "v1.10", "build-a", "build-b"}
	pick := func() string { return versions[random.IntN(len(versions))] }
	const groups = 120
	acts, seen := make([][]act, groups), make([][]sighting, groups)
	firsts := map[string]time.Time{}
	for g := range groups {
		for range 1 + random.IntN(6) {
			s := sighting{moment(), pick()}
			seen[g] = append(seen[g], s)
			if f, known := firsts[s.release]; s.release != "" && (!known || s.at.Before(f)) {
				firsts[s.release] = s.at
			}
		}
		for range random.IntN(4) {
			a := act{at: moment(), until: time.Unix(0, 0).UTC()}
			switch random.IntN(5) {
			case 0:
				a.kind = tables.TriageReopened
			case 1:
				a.kind = tables.TriageIgnored
				a.count = uint64(random.IntN(6))
			case 2:
				a.kind = tables.TriageIgnored
				a.until = now.Add(time.Duration(random.IntN(3)-1) * time.Hour)
			case 3:
				a.kind, a.release = tables.TriageResolved, append(versions[1:], "never")[random.IntN(len(versions))]
			default:
				a.kind = tables.TriageResolved
			}
			acts[g] = append(acts[g], a)
		}
	}
	for round := range 2 {
		p := newPortal(t)
		p.foldStatuses(random, acts, seen)
		if round == 1 {
			p.refresh(p.lists(1))
		}
		got := map[string]string{}
		for _, item := range decodeAll(t, p.groupPages("", 200, round != 1)) {
			got[item["fingerprint"].(string)] = item["status"].(string)
		}
		for g := range groups {
			want := expected(acts[g], seen[g], firsts, now)
			if got[fingerprint(g+1)] != want {
				t.Errorf("round %d: group %d is %s, want %s: decided %v, seen %v", round, g, got[fingerprint(g+1)], want, acts[g], seen[g])
			}
		}
	}
}

func decodeAll(t *testing.T, texts []string) (out []map[string]any) {
	for _, text := range texts {
		out = append(out, decode(t, []byte(text)))
	}
	return out
}

// foldStatuses inserts the rows of all decisions and occurrences, shuffled and in several blocks.
func (p *portal) foldStatuses(random *rand.Rand, acts [][]act, seen [][]sighting) {
	type row struct {
		group int
		s     sighting
	}
	var all []row
	for g, list := range seen {
		for _, s := range list {
			all = append(all, row{g + 1, s})
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for len(all) > 0 {
		n := min(len(all), 1+random.IntN(200))
		var block []occurs
		for _, r := range all[:n] {
			block = append(block, occurs{group: r.group, ts: r.s.at, name: "E", release: r.s.release})
		}
		p.errors(block...)
		all = all[n:]
	}
	type decided struct {
		group  int
		offset int64
		act    act
	}
	var decisions []decided
	offset := int64(0)
	for g, list := range acts {
		for _, a := range list {
			decisions = append(decisions, decided{g + 1, offset, a})
			offset++
		}
	}
	random.Shuffle(len(decisions), func(i, j int) { decisions[i], decisions[j] = decisions[j], decisions[i] })
	p.insert(tables.ErrorTriage(), len(decisions), func(i int) []any {
		d := decisions[i]
		return []any{"prj_one", raw(fingerprint(d.group)), d.offset, d.act.kind, d.act.at, "admin", "", d.act.release, releases.Key(d.act.release),
			d.act.until, d.act.count, string(make([]byte, 16))}
	})
}

// TestStatusRules are the rules one by one.
func TestStatusRules(t *testing.T) {
	now := time.Now().UTC()
	at := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	none := time.Unix(0, 0)
	resolved := func(minutes int, release string) act {
		return act{tables.TriageResolved, release, at(minutes), none, 0}
	}
	tests := []struct {
		what string
		acts []act
		seen []sighting
		want string
	}{
		{"nothing decided", nil, []sighting{{at(-9), ""}}, "unresolved"},
		{"resolved after the last", []act{resolved(-5, "")}, []sighting{{at(-9), ""}}, "resolved"},
		{"seen again", []act{resolved(-5, "")}, []sighting{{at(-9), ""}, {at(-1), ""}}, "regressed"},
		{"resolved again", []act{resolved(-5, ""), resolved(0, "")}, []sighting{{at(-1), ""}}, "resolved"},
		{"reopened", []act{resolved(-5, ""), {tables.TriageReopened, "", at(-4), none, 0}}, []sighting{{at(-1), ""}}, "unresolved"},
		{"an older release", []act{resolved(-5, "1.2.0")}, []sighting{{at(-1), "1.1.9"}}, "resolved"},
		{"that release", []act{resolved(-5, "1.2.0")}, []sighting{{at(-1), "1.2.0"}}, "regressed"},
		{"a later release", []act{resolved(-5, "1.2.0")}, []sighting{{at(-1), "1.10.0"}}, "regressed"},
		{"a pre-release of it", []act{resolved(-5, "1.2.0")}, []sighting{{at(-1), "1.2.0-rc.1"}}, "resolved"},
		{"that release before the decision", []act{resolved(-5, "1.2.0")}, []sighting{{at(-8), "1.2.0"}}, "resolved"},
		{"no release", []act{resolved(-5, "1.2.0")}, []sighting{{at(-1), ""}}, "resolved"},
		{"a release first seen later", []act{resolved(-5, "abc")}, []sighting{{at(-9), "abc"}, {at(-1), "def"}}, "regressed"},
		{"a release first seen earlier", []act{resolved(-5, "abc")}, []sighting{{at(-9), "def"}, {at(-8), "abc"}, {at(-1), "def"}}, "resolved"},
		{"a release never seen", []act{resolved(-5, "abc")}, []sighting{{at(-1), "def"}}, "resolved"},
		{"ignored", []act{{tables.TriageIgnored, "", at(-5), none, 0}}, []sighting{{at(-1), ""}}, "ignored"},
		{"ignored until later", []act{{tables.TriageIgnored, "", at(-5), at(60), 0}}, []sighting{{at(-1), ""}}, "ignored"},
		{"ignored until now", []act{{tables.TriageIgnored, "", at(-5), at(-1), 0}}, []sighting{{at(-3), ""}}, "unresolved"},
		{"ignored until two more", []act{{tables.TriageIgnored, "", at(-5), none, 3}}, []sighting{{at(-9), ""}, {at(-1), ""}}, "ignored"},
		{"and they came", []act{{tables.TriageIgnored, "", at(-5), none, 3}}, []sighting{{at(-9), ""}, {at(-2), ""}, {at(-1), ""}}, "unresolved"},
	}
	for i, tt := range tests {
		firsts := map[string]time.Time{}
		for _, s := range tt.seen {
			if f, known := firsts[s.release]; s.release != "" && (!known || s.at.Before(f)) {
				firsts[s.release] = s.at
			}
		}
		if got := expected(tt.acts, tt.seen, firsts, now); got != tt.want {
			t.Errorf("%d %s: %s, want %s", i, tt.what, got, tt.want)
		}
	}
}

// TestMerges are the rules of what is shown where.
func TestMerges(t *testing.T) {
	tests := []struct {
		merges []merge
		want   string
	}{
		{nil, "map[]"},
		{[]merge{{"a", "b", false}}, "map[a:b]"},
		{[]merge{{"a", "b", false}, {"b", "c", false}}, "map[a:c b:c]"},
		{[]merge{{"a", "b", false}, {"b", "c", false}, {"b", "", true}}, "map[a:b]"},
		{[]merge{{"a", "b", false}, {"a", "c", false}}, "map[a:c]"},
		{[]merge{{"a", "b", false}, {"b", "a", false}}, "map[a:b]"},
		{[]merge{{"a", "a", false}}, "map[]"},
		{[]merge{{"a", "b", false}, {"b", "c", false}, {"c", "a", false}}, "map[a:c b:c]"},
		{[]merge{{"a", "b", false}, {"a", "", true}, {"b", "a", false}}, "map[b:a]"},
	}
	for _, tt := range tests {
		if got := fmt.Sprint(roots(tt.merges)); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.merges, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		merges := rapid.SliceOf(rapid.Custom(func(t *rapid.T) merge {
			return merge{id.Draw(t, "from"), id.Draw(t, "into"), rapid.Bool().Draw(t, "undone")}
		})).Draw(t, "merges")
		for from, into := range roots(merges) {
			if from == into || roots(merges)[into] != "" {
				t.Fatalf("%v: %s is shown in %s, which is shown elsewhere", merges, from, into)
			}
		}
	})
}

// TestMergedGroupsAreOne shows two groups as one, with what both have, and apart again.
func TestMergedGroupsAreOne(t *testing.T) {
	p := newPortal(t)
	p.errors(
		occurs{group: 1, ts: noon, name: "A", env: "prod", release: "1.0"},
		occurs{group: 2, ts: noon.Add(time.Hour), name: "B", env: "dev", release: "2.0"},
		occurs{group: 3, ts: noon.Add(2 * time.Hour), name: "C"},
	)
	p.decide(0, 1, tables.TriageResolved, noon.Add(30*time.Minute))
	p.decide(1, 2, tables.TriageMerged, noon, "merged_into", raw(fingerprint(1)))
	list := items(p.get("one", "/api/errors/groups"))
	if got := names(list, "name") + " / " + names(list, "status") + " / " + names(list, "count"); got != "C B / unresolved regressed / 1 2" {
		t.Errorf("merged: %s", got)
	}
	for _, print := range []int{1, 2} {
		d := p.get("one", "/api/errors/groups/"+fingerprint(print))
		if d["fingerprint"] != fingerprint(1) || fmt.Sprint(d["count"]) != "2" || fmt.Sprint(d["merged"]) != "["+fingerprint(2)+"]" ||
			d["first_release"] != "1.0" || d["last_release"] != "2.0" || len(items(d["occurrences"].(map[string]any))) != 2 || len(d["decisions"].([]any)) != 2 {
			t.Errorf("group %d: %v", print, d)
		}
	}
	if got := names(items(p.get("one", "/api/errors/groups?environment=dev")), "fingerprint"); got != fingerprint(1) {
		t.Errorf("by the merged group's environment: %s", got)
	}
	p.decide(2, 2, tables.TriageUnmerged, noon)
	list = items(p.get("one", "/api/errors/groups"))
	if got := names(list, "name") + " / " + names(list, "status"); got != "C B A / unresolved unresolved resolved" {
		t.Errorf("unmerged: %s", got)
	}
}

// TestOldNamesLead follows the fingerprint of an older algorithm: links lead to
// the group with most of its events, decisions and merges hold under new names.
func TestOldNamesLead(t *testing.T) {
	p := newPortal(t)
	p.errors(occurs{group: 1, ts: noon, name: "A"}, occurs{group: 2, ts: noon.Add(time.Minute), name: "B"}, occurs{group: 3, ts: noon.Add(2 * time.Minute), name: "C"})
	aliases := [][3]int{{11, 1, 5}, {11, 2, 9}, {13, 3, 1}} // old 11 was split into 1 and 2
	p.insert(tables.ErrorAliases(), len(aliases), func(i int) []any {
		a := aliases[i]
		return []any{"prj_one", raw(fingerprint(a[0])), raw(fingerprint(a[1])), uint64(a[2])}
	})
	p.decide(0, 11, tables.TriageResolved, noon.Add(time.Hour))
	if got := names(items(p.get("one", "/api/errors/groups")), "status"); got != "unresolved resolved resolved" {
		t.Errorf("statuses under new names: %s", got)
	}
	if d := p.get("one", "/api/errors/groups/"+fingerprint(11)); d["fingerprint"] != fingerprint(2) || len(d["decisions"].([]any)) != 1 {
		t.Errorf("an old link leads to %v", d)
	}
	p.problem("two", "/api/errors/groups/"+fingerprint(11), 404, "not_found")
	p.decide(1, 13, tables.TriageMerged, noon, "merged_into", raw(fingerprint(11)))
	if got := names(items(p.get("one", "/api/errors/groups")), "fingerprint"); got != fingerprint(2)+" "+fingerprint(1) {
		t.Errorf("merged under old names: %s", got)
	}
}
