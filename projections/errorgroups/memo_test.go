package errorgroups

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"weir/projections/errorgroups/grouping"
	"weir/projections/foldtest"
	"weir/readmodel/tables"
	"weir/schemas"
)

// A fold that remembers gives the rows of one that does not, whatever members the
// same errors come with.
func TestMemoChangesNothing(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	names := []string{
		"name", "message", "stack", "fingerprint", "platform", "stacktrace", "frames", "type", "class", "cause", "errors",
		"release", "environment", "service", "request", "user", "na\\u006de",
	}
	values := []string{`"a"`, `"b 17"`, `["x","y"]`, `{"type":"T","message":"m"}`, `"T: m\n    at f (/app/a.js:1:2)\n    at g (/app/b.js:3:4)"`, `null`, `7`, `[{"function":"f","file":"a.go"}]`}
	var events []string
	for range 3000 {
		data := "{"
		for n := range 1 + random.IntN(4) {
			if n > 0 {
				data += ","
			}
			data += fmt.Sprintf("%q:%s", names[random.IntN(len(names)-1)], values[random.IntN(len(values))])
		}
		events = append(events, exception("2026-11-21T09:10:00Z", data+"}"))
	}
	events = append(events, exception("2026-11-21T09:10:00Z", `{"`+names[len(names)-1]+`":"a"}`))
	records := foldtest.Records(schemas.Error, "prj_1", 0, append(events, events...)...)
	f := Projection().New().(*fold)
	var want []string
	for i := range records {
		if err := f.Add(&records[i]); err != nil {
			t.Fatal(err)
		}
		e, err := schemas.Open(records[i].Value)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := grouping.ParsePayload(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		r := grouping.Group("prj_1", payload)
		want = append(want, fmt.Sprintf("%x %q %q", r.Fingerprint, r.Name, r.Culprit))
	}
	for i, row := range foldtest.Rows(tables.ErrorOccurrences().ColumnNames(), f.Blocks()[3].Columns) {
		if got := fmt.Sprintf("%x %q %q", row["fingerprint"], row["name"], row["culprit"]); got != want[i] {
			t.Fatalf("%s:\n%s\ninstead of\n%s", records[i].Value, got, want[i])
		}
	}
	if len(f.memo.known) == 0 {
		t.Error("nothing was remembered")
	}
}

// What decides is read by name; every name that is parsed for that is known to Reads.
func TestReadsKnowsWhatDecides(t *testing.T) {
	for _, name := range []string{"release", "environment", "service", "request", "user", "tags", "level"} {
		if grouping.Reads(name) {
			t.Errorf("%s is said to decide the group", name)
		}
	}
}

func TestFoldDoesNotAllocatePerRecord(t *testing.T) {
	var events []string
	for i := range 1000 {
		events = append(events, exception("2026-11-21T09:10:00Z", fmt.Sprintf(
			`{"name":"TypeError","message":"x is undefined","release":"1.1.%d","environment":"prod","stack":"TypeError: x\n    at f (/app/a.js:%d:2)","request":{"id":%d}}`, i%7, i%20, i)))
	}
	records := foldtest.Records(schemas.Error, "prj_1", 0, events...)
	foldtest.Allocations(t, Projection().New(), records, 100)
}
