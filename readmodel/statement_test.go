package readmodel

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write testdata/statements.txt anew")

const goldenStatements = "testdata/statements.txt"

// statements are queries by name; what they turn into is in the golden file,
// to be reviewed like code.
func statements() []struct {
	name string
	s    Statement
} {
	from, to := noon, noon.Add(time.Hour)
	filter := EventsFilter{Project: "prj_one"}
	full := EventsFilter{Project: "prj_one", Types: []string{"error", "log"}, From: from, To: to, Text: `Café "x"`, Fields: []Filter{
		{Path: []string{"level"}, Op: Equal, Value: "error"},
		{Path: []string{"fields", "user"}, Op: NotEqual, Value: "7"},
		{Path: []string{"statusCode"}, Op: GreaterOrEqual, Value: "500"},
		{Path: []string{"version"}, Op: Less, Value: "b"},
		{Path: []string{"name"}, Op: Equal, Value: "7", Quoted: true},
		{Path: []string{"message"}, Op: Contains, Value: "x"},
		{Path: []string{"a"}, Op: Exists}, {Path: []string{"b"}, Op: Missing},
	}}
	key := &eventKey{TS: noon.UnixNano(), ID: strings.Repeat("0a", 16)}
	buckets := CutBuckets(from, to, time.Minute, 0)
	prints := []string{fingerprint(1), fingerprint(2)}
	plain := groupScope{Project: "prj_one"}
	triaged := groupScope{Project: "prj_one", Decided: true, ByRelease: true, Roots: map[string]string{fingerprint(2): fingerprint(1)}}
	groups := GroupsFilter{Project: "prj_one", Statuses: []string{"resolved", "ignored"}, Environment: "prod", Release: "1.0", Service: "api", Text: "x", Since: from, Until: to}
	return []struct {
		name string
		s    Statement
	}{
		{"events, first page", EventsQuery{EventsFilter: filter, Limit: 50}.statement()},
		{"events, next page", EventsQuery{EventsFilter: filter, After: key, Limit: 50}.statement()},
		{"events, all filters", EventsQuery{EventsFilter: full, Limit: 50}.statement()},
		{"span", SpanQuery{full}.statement()},
		{"histogram", HistogramQuery{filter, buckets}.statement()},
		{"histogram from counts", HistogramQuery{EventsFilter{Project: "prj_one", Types: []string{"log"}, From: from, To: to}, buckets}.statement()},
		{"tail start", TailStartQuery{"prj_one", noon}.statement()},
		{"tail, nothing shown", TailQuery{filter, tailState{since: noon}}.statement()},
		{"tail, resumed", TailQuery{filter, tailState{noon, map[place]int64{{"log", 1}: 5, {"audit", 0}: 9}}}.statement()},
		{"trace", TraceQuery{Project: "prj_one", TraceID: "t1", Limit: 50}.statement()},
		{"trace, every project, next page", TraceQuery{TraceID: "t1", After: key, Limit: 50}.statement()},
		{"series of one metric", SeriesQuery{Project: "prj_one", Metric: "latency", Service: "api", From: from, To: to, Buckets: buckets, Of: []metric{{"latency", "ms"}}}.statement()},
		{"series, its ends", SeriesQuery{Project: "prj_one", Metric: "latency"}.ends()},
		{"series, its metrics", SeriesQuery{Project: "prj_one", From: from, To: to}.names()},
		{"series, units", SeriesQuery{Project: "prj_one", From: from, To: to}.units([]string{"latency", "size"})},
		{"series of two metrics", SeriesQuery{Project: "prj_one", From: from, To: to, Buckets: buckets, Of: []metric{{"latency", "ms"}, {"size", ""}}}.statement()},
		{"groups", GroupsQuery{GroupsFilter: GroupsFilter{Project: "prj_one"}, Sort: ByLastSeen, Limit: 50, Now: noon, scope: plain}.statement()},
		{"groups, all filters, by count, next page", GroupsQuery{GroupsFilter: groups, Sort: ByCount, Ascending: true,
			After: &groupKey{3, fingerprint(1)}, Limit: 50, Now: noon, scope: triaged}.statement()},
		{"group list", GroupListQuery{GroupsQuery{GroupsFilter: GroupsFilter{Project: "prj_one"}, Sort: ByLastSeen, Limit: 50, Now: noon}, false}.statement()},
		{"group list, all filters, next page", GroupListQuery{GroupsQuery{GroupsFilter: groups, Sort: ByLastSeen,
			After: &groupKey{noon.UnixNano(), fingerprint(1)}, Limit: 50, Now: noon, scope: triaged}, true}.statement()},
		{"group list build", GroupListBuild{triaged, noon}.statement()},
		{"group details", GroupDetailsQuery{plain, prints, true}.statement()},
		{"group facets", GroupFacetsQuery{plain, prints}.statement()},
		{"group trend", GroupTrendQuery{triaged, prints, noon, 24}.statement()},
		{"group", GroupQuery{"prj_one", fingerprint(1)}.statement()},
		{"group, every project", GroupQuery{"", fingerprint(1)}.statement()},
		{"group state", GroupStateQuery{plain, fingerprint(1), noon}.statement()},
		{"group decisions", DecisionsQuery{"prj_one", prints}.statement()},
		{"triage", TriageQuery{"prj_one"}.statement()},
		{"merges", MergesQuery{"prj_one"}.statement()},
		{"aliases", AliasesQuery{"prj_one", prints}.statement()},
		{"listed", ListedQuery{"prj_one"}.statement()},
		{"occurrences", OccurrencesQuery{"prj_one", prints[:1], key, 50}.statement()},
		{"occurrences of merged groups", OccurrencesQuery{"prj_one", prints, nil, 50}.statement()},
		{"deliveries", DeliveriesQuery{Project: "prj_one", Endpoint: "ep_1", Statuses: []string{"pending"}, After: &deliveryKey{5, "dlv_1"}, Limit: 50}.statement()},
		{"delivery", DeliveryQuery{"prj_one", "dlv_1"}.statement()},
		{"attempts", AttemptsQuery{"prj_one", "dlv_1"}.statement()},
		{"costs by month", CostsQuery{Project: "prj_one", From: from, To: to, Monthly: true, GroupBy: dimensions, Limit: 50}.statement()},
		{"costs by day and currency alone, next page", CostsQuery{Project: "prj_one", After: []string{"2026-11-20", "EUR"}, Limit: 50}.statement()},
		{"rejections", RejectionsQuery{Project: "prj_one", Limit: 50}.statement()},
		{"rejections, all filters, next page", RejectionsQuery{Project: "prj_one", Types: []string{"log"}, From: from, To: to, After: &rejectionKey{5, "log", "data: required"}, Limit: 50}.statement()},
		{"quarantine", QuarantineQuery{Projection: "costs", Generation: 2, Limit: 50}.statement()},
		{"quarantine, next page", QuarantineQuery{Projection: "costs", Generation: 2, After: &quarantineKey{5, "weir.events.cost", 1, 9}, Limit: 50}.statement()},
	}
}

func TestStatements(t *testing.T) {
	var b strings.Builder
	for _, q := range statements() {
		fmt.Fprintf(&b, "== %s\n%s\n", q.name, q.s.SQL)
		for _, a := range q.s.Args {
			fmt.Fprintf(&b, "   %s = %#v\n", a.Name, a.Value)
		}
		b.WriteString("\n")
	}
	if *update {
		if err := os.WriteFile(goldenStatements, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(goldenStatements)
	if err != nil {
		t.Fatal(err)
	}
	if string(golden) != b.String() {
		t.Errorf("statements differ from %s; look at the difference, then run the test with -update:\n%s", goldenStatements, firstDifference(string(golden), b.String()))
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\n want %s\n  got %s", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// TestStatementsHoldNoValues looks for text of an argument in the SQL, and for placeholders and arguments that do not match.
func TestStatementsHoldNoValues(t *testing.T) {
	placeholder := regexp.MustCompile(`\{(p\d+):`)
	for _, q := range statements() {
		used := map[string]bool{}
		for _, m := range placeholder.FindAllStringSubmatch(q.s.SQL, -1) {
			used[m[1]] = true
		}
		for _, a := range q.s.Args {
			if !used[a.Name] {
				t.Errorf("%s: argument %s has no placeholder", q.name, a.Name)
			}
			delete(used, a.Name)
			if s, ok := a.Value.(string); ok && strings.HasPrefix(s, "prj_") && strings.Contains(q.s.SQL, s) {
				t.Errorf("%s: %q is text of the statement", q.name, s)
			}
		}
		if len(used) > 0 {
			t.Errorf("%s: placeholders without argument: %v", q.name, used)
		}
	}
}

func TestFilterForms(t *testing.T) {
	tests := []struct {
		in   string
		want Filter
	}{
		{"level=error", Filter{Path: []string{"level"}, Op: Equal, Value: "error"}},
		{"a.b.c!=1", Filter{Path: []string{"a", "b", "c"}, Op: NotEqual, Value: "1"}},
		{"a >= 1 ", Filter{Path: []string{"a"}, Op: GreaterOrEqual, Value: "1"}},
		{"a>=", Filter{Path: []string{"a"}, Op: GreaterOrEqual}},
		{"a==b", Filter{Path: []string{"a"}, Op: Equal, Value: "=b"}},
		{"url=http://x?a=b", Filter{Path: []string{"url"}, Op: Equal, Value: "http://x?a=b"}},
		{`"a.b"."c=\u0064"~"x y "`, Filter{Path: []string{"a.b", "c=d"}, Op: Contains, Value: "x y ", Quoted: true}},
		{"a exists", Filter{Path: []string{"a"}, Op: Exists}},
		{"a  !exists ", Filter{Path: []string{"a"}, Op: Missing}},
		{"naïve=ü", Filter{Path: []string{"naïve"}, Op: Equal, Value: "ü"}},
		{"a-b_c$=1", Filter{Path: []string{"a-b_c$"}, Op: Equal, Value: "1"}},
	}
	for _, tt := range tests {
		got, err := ParseFilter(tt.in)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%q: got %+v, %v, want %+v", tt.in, got, err, tt.want)
		}
	}
	for _, bad := range []string{"", "=", "a", ".a=1", "a.=1", "a. =1", "!a", "a b=1", "\xff=1", "a exist", `"a`, `"a"b=1`, "a!1"} {
		if f, err := ParseFilter(bad); err == nil {
			t.Errorf("%q was taken: %+v", bad, f)
		}
	}
}

// FuzzParseFilter looks for panics, and for filters that do not keep their bounds.
func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{"level=error", `"a.b".c>=1`, "a !exists", "a~", `x="\u0000"`, "a.b.c.d=", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseFilter(s)
		if err != nil {
			return
		}
		if len(got.Path) == 0 || len(got.Path) > maxPathNames || got.Op == "" {
			t.Fatalf("%q: %+v", s, got)
		}
		var b builder
		if sql := got.condition(&b); strings.ContainsAny(sql, "\x00;") {
			t.Fatalf("%q became %s", s, sql)
		}
	})
}
