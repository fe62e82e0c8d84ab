package errorgroups

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/eventlog"
	"weir/projections/errorgroups/grouping"
	"weir/projections/foldtest"
	"weir/readmodel/tables"
	"weir/schemas"
)

// byName is a second algorithm: one group for each first letter of the name.
var byName = grouping.Version{
	Number: 99,
	Group: func(project string, p grouping.Payload) grouping.Result {
		r := grouping.Group(project, p)
		r.Algorithm = 99
		r.Fingerprint = [16]byte{}
		copy(r.Fingerprint[:], project+p.Name[:1])
		return r
	},
	Explain: func(string, grouping.Payload) grouping.Explanation { return grouping.Explanation{Algorithm: 99} },
}

func current(t *testing.T) grouping.Version {
	t.Helper()
	v, err := grouping.Lookup(grouping.Algorithm)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Under another algorithm the old names stay, as aliases with their events.
func TestAliases(t *testing.T) {
	p := under(byName, []grouping.Version{current(t), byName})
	if p.Version == Projection().Version || p.Name != Projection().Name {
		t.Errorf("version %d of %s", p.Version, p.Name)
	}
	f := p.New()
	f.Reset()
	for _, r := range foldtest.Records(schemas.Error, "p", 0,
		exception("2026-11-21T09:10:00Z", `{"name":"Alpha","message":"a"}`), exception("2026-11-21T09:10:00Z", `{"name":"Alpha","message":"a"}`),
		exception("2026-11-21T09:10:00Z", `{"name":"Apex","message":"b"}`), exception("2026-11-21T09:10:00Z", `{"name":"Beta","message":"c","release":"1.2.0"}`),
	) {
		if err := f.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	blocks := f.Blocks()
	aliases := foldtest.Rows(tables.ErrorAliases().ColumnNames(), blocks[5].Columns)
	if len(aliases) != 3 || blocks[0].Rows != 2 {
		t.Fatalf("%d aliases of %d groups", len(aliases), blocks[0].Rows)
	}
	for i, want := range []struct {
		payload, name string
		count         uint64
	}{{`{"name":"Alpha","message":"a"}`, "pA", 2}, {`{"name":"Apex","message":"b"}`, "pA", 1}, {`{"name":"Beta","message":"c"}`, "pB", 1}} {
		payload, _ := grouping.ParsePayload([]byte(want.payload))
		old := grouping.Group("p", payload).Hex()
		row := aliases[i]
		if hex.EncodeToString([]byte(row["alias"].(string))) != old || row["fingerprint"].(string)[:2] != want.name || row["count"] != want.count {
			t.Errorf("alias %d: %v, want %s of %s", i, row, old, want.name)
		}
	}
	for _, row := range foldtest.Rows(tables.ErrorGroups().ColumnNames(), blocks[0].Columns) {
		if text := row["latest"].([]any)[5]; !strings.Contains(text.(string), `"algorithm":99`) {
			t.Errorf("explained by %v", text)
		}
	}
	if rows := foldtest.Rows(tables.ErrorReleases().ColumnNames(), blocks[4].Columns); len(rows) != 1 || rows[0]["release"] != "1.2.0" {
		t.Errorf("releases %v", rows)
	}
	if _, err := ProjectionUnder(12345); err == nil {
		t.Error("an unknown algorithm was taken")
	}
}

// latestAt never lies before ts nor after the end of the millisecond it was received in.
func TestLatestAt(t *testing.T) {
	at := func(s string) time.Time {
		parsed, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, tt := range []struct{ ts, received, want string }{
		{"2026-11-21T09:00:00.123456789Z", "2026-11-21T09:00:01Z", "2026-11-21T09:00:00.123456789Z"},
		{"2026-11-21T09:00:00Z", "2026-11-21T09:00:07Z", "2026-11-21T09:00:00.999999999Z"},
		{"2026-11-21T09:00:00Z", "2026-11-21T09:00:00.2Z", "2026-11-21T09:00:00.200999999Z"},
		{"2026-11-21T09:00:00.5Z", "2026-11-21T09:00:07Z", "2026-11-21T09:00:00.500999999Z"},
		{"2199-01-01T00:00:00.000000001Z", "2026-11-21T09:00:00Z", "2026-11-21T09:00:00.000999999Z"},
		{"1970-01-01T00:00:00Z", "2026-11-21T09:00:00Z", "1970-01-01T00:00:00.999999999Z"},
	} {
		if got := latestAt(at(tt.ts), at(tt.received)); !got.Equal(at(tt.want)) {
			t.Errorf("ts %s received %s: %v, want %s", tt.ts, tt.received, got, tt.want)
		}
	}
}

// memoryLog is a topic of two partitions.
type memoryLog [2][]eventlog.Record

func (l *memoryLog) Bounds(context.Context, string) ([]eventlog.Bounds, error) {
	return []eventlog.Bounds{{Partition: 0, End: int64(len(l[0]))}, {Partition: 1, End: int64(len(l[1]))}}, nil
}

func (l *memoryLog) Fetch(_ context.Context, _ string, partition int, offset int64, _ int, _ time.Duration) (eventlog.Chunk, error) {
	all := l[partition]
	end := min(int(offset)+3, len(all))
	return eventlog.Chunk{Records: all[offset:end], Next: int64(end), HighWatermark: int64(len(all))}, nil
}

func TestPreview(t *testing.T) {
	var log memoryLog
	for i := range 20 {
		name := []string{"Alpha", "Alpha", "Alpha", "Apex", "Beta"}[i%5]
		part := &log[i%2]
		*part = append(*part, foldtest.Record(schemas.Error, "p", int64(len(*part)), exception("2026-11-21T09:10:00Z", fmt.Sprintf(`{"name":%q,"message":"%s"}`, name, name))))
	}
	log[0] = append(log[0], foldtest.Record(schemas.Error, "p", int64(len(log[0])), `{"broken`))
	var steps []int64
	note := func(done, of int64) { steps = append(steps, done, of) }
	r, err := Compare(t.Context(), &log, current(t), byName, "", 10, note)
	if err != nil {
		t.Fatal(err)
	}
	if r.Events != 20 || r.Skipped != 1 || r.GroupsBefore != 3 || r.GroupsAfter != 2 || r.Split != 0 || r.Merged != 1 || r.Moved != 4 || r.Renamed != 1 {
		t.Errorf("%+v", r)
	}
	if len(r.Merges) != 1 || r.Merges[0].Events != 16 || len(r.Merges[0].Parts) != 2 || r.Merges[0].Parts[0].Events != 12 {
		t.Errorf("merges %+v", r.Merges)
	}
	back, err := Compare(t.Context(), &log, byName, current(t), "p", 10, note)
	if err != nil || back.Split != 1 || back.Merged != 0 || back.Moved != 4 || len(back.Splits) != 1 || back.Splits[0].Name == "" {
		t.Errorf("the other way %+v, %v", back, err)
	}
	if same, _ := Compare(t.Context(), &log, byName, byName, "", 10, note); same.Moved+uint64(same.Split+same.Merged+same.Renamed) != 0 {
		t.Errorf("compared with itself %+v", same)
	}
	if other, _ := Compare(t.Context(), &log, byName, byName, "nobody", 10, note); other.Events != 0 {
		t.Errorf("of another project %+v", other)
	}
	if last := steps[len(steps)-2:]; last[0] != last[1] || slices.Max(steps) != 21 {
		t.Errorf("progress %v", steps)
	}
}
