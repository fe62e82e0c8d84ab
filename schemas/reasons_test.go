package schemas

import (
	"strings"
	"testing"
)

// reasonCase is one line of testdata/reasons.txt.
type reasonCase struct{ event, want string }

func reasonCases(t testing.TB) (all []reasonCase) {
	for _, line := range lines(t, "testdata/reasons.txt") {
		at := strings.LastIndex(line, " -> ")
		if at < 0 {
			t.Fatalf("testdata/reasons.txt: no arrow in %q", line)
		}
		event := strings.ReplaceAll(line[:at], "@", `"ts":"2026-11-20T09:30:00Z"`)
		all = append(all, reasonCase{event, line[at+4:]})
	}
	return all
}

// outcome writes what became of the only event of a batch as reasons.txt does.
func outcome(b *Batch) string {
	if len(b.Events) == 1 {
		return "accepted " + b.Events[0].Type.String()
	}
	return b.Rejected[0].Reason
}

func TestReasons(t *testing.T) {
	var batch Batch
	for _, c := range reasonCases(t) {
		if err := batch.Parse(bodyOf(c.event)); err != nil {
			t.Errorf("%s: %v", c.event, err)
			continue
		}
		if got := outcome(&batch); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.event, got, c.want)
		}
	}
}

func TestReasonsKeepTheirPlace(t *testing.T) {
	var batch Batch
	body := bodyOf(sampleEvent(Log), `{"type":"nope"}`, `7`, sampleEvent(Cost), `{"type":"audit","ts":"`+sampleTime+`","data":{"action":"a"}}`)
	if err := batch.Parse(body); err != nil {
		t.Fatal(err)
	}
	if batch.Count != 5 || len(batch.Events) != 2 || batch.Events[1].Index != 3 || batch.Events[1].Type != Cost {
		t.Fatalf("count %d, events %+v", batch.Count, batch.Events)
	}
	want := []Rejection{
		{1, "", `type: unknown value "nope"`, []byte(`{"type":"nope"}`)},
		{2, "", reasonShape, []byte(`7`)},
		{4, "audit", "data.actor: required", nil},
	}
	for i, r := range batch.Rejected {
		w := want[i]
		if r.Index != w.Index || r.Type != w.Type || r.Reason != w.Reason || w.Raw != nil && string(r.Raw) != string(w.Raw) {
			t.Errorf("got %+v, want %+v", r, w)
		}
	}
}

// expectedFields is decisions.md and the customer's table, written down a
// second time: ! required, ? one of several required.
const expectedFields = `
audit: actor! string, action! string, resource string, method string, path string, statusCode integer, duration number, ip string, userAgent string, metadata object
config: path! string, diff string, actor string
cost: provider string, service! string, region string, amount! number, currency! letters, period string
deploy: service! string, version! string, environment string, status string, commit string
error: name? string, message? string, release string, environment string
feature_flag: key! string, enabled boolean, rollout number, actor string
log: level string, message! string, module string, fields object
performance: service string, metric! string, value! number, unit string
repository: provider string, repo! string, branch string, commit string, author string
tenant: projectId! string, plan string, ingestLimitPerSecond integer
trace: traceId! string, spanId! string, serviceName string, name! string, durationMs number
video: jobId! string, targetUrl string, status string, artifactUrl string
webhook: destination? string, url? string, statusCode integer, attempt integer
`

func TestDefinitionsAreAsDecided(t *testing.T) {
	var got strings.Builder
	for _, kind := range Types() {
		d := DefinitionOf(kind)
		got.WriteString("\n" + kind.String() + ":")
		for i, f := range d.Fields {
			if i > 0 {
				got.WriteString(",")
			}
			mark := ""
			if f.Required {
				mark = "!"
			}
			for _, name := range d.AnyOf {
				if name == f.Name {
					mark = "?"
				}
			}
			words := strings.Fields(f.Kind.String())
			got.WriteString(" " + f.Name + mark + " " + words[len(words)-1])
		}
	}
	if got.String()+"\n" != expectedFields {
		t.Errorf("got:%s", got.String())
	}
}

// wrongValues are values that are not of a kind; their reasons are "must be".
var wrongValues = map[Kind][]string{
	Text:     {`1`, `true`, `{}`, `[]`},
	Integer:  {`"1"`, `1.5`, `false`, `{}`, `[]`},
	Number:   {`"1"`, `true`, `{}`, `[]`},
	Amount:   {`"1"`, `true`, `{}`, `[]`},
	Currency: {`1`, `"EU"`, `"EUROS"`, `"€"`, `{}`},
	Boolean:  {`1`, `"true"`, `{}`, `[]`},
	Object:   {`1`, `"{}"`, `true`, `[]`},
}

func TestEveryFieldOfEveryType(t *testing.T) {
	var batch Batch
	for _, kind := range Types() {
		check := func(data, want string) {
			t.Helper()
			if err := batch.Parse(bodyOf(eventWith(kind.String(), data))); err != nil {
				t.Fatal(err)
			}
			if got := outcome(&batch); got != want {
				t.Errorf("%s %s\n got %s\nwant %s", kind, data, got, want)
			}
		}
		accepted := "accepted " + kind.String()
		check(sampleData[kind], accepted)
		d := DefinitionOf(kind)
		for _, f := range d.Fields {
			path := "data." + f.Name
			gone := accepted
			if f.Required {
				gone = path + ": required"
			}
			check(replaceMember(t, sampleData[kind], f.Name, ""), gone)
			check(replaceMember(t, sampleData[kind], f.Name, "null"), gone)
			for _, wrong := range wrongValues[f.Kind] {
				check(replaceMember(t, sampleData[kind], f.Name, wrong), path+": must be "+f.Kind.String())
			}
		}
	}
}

// replaceMember returns an object with another value for a member, or without
// it when value is empty.
func replaceMember(t *testing.T, object, name, value string) string {
	t.Helper()
	out, found := "{", false
	err := Members([]byte(object), func(n, v []byte) bool {
		text := string(v)
		if string(n) == name {
			found, text = true, value
		}
		if text != "" {
			if len(out) > 1 {
				out += ","
			}
			out += `"` + string(n) + `":` + text
		}
		return true
	})
	if err != nil || !found {
		t.Fatalf("no member %s in %s: %v", name, object, err)
	}
	return out + "}"
}
