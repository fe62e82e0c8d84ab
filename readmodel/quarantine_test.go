package readmodel

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/httpapi"
	"weir/readmodel/tables"
)

// stuck is a partial row of quarantine; after counts milliseconds from noon.
type stuck struct {
	projection string
	generation uint32
	partition  uint32
	offset     int64
	after      int
	project    string
	payload    string
	bytes      uint64
}

func (p *portal) quarantine(all ...stuck) {
	p.t.Helper()
	p.insert(tables.Quarantine(), len(all), func(i int) []any {
		r := all[i]
		at := noon.Add(time.Duration(r.after) * time.Millisecond)
		return []any{either(r.projection, Costs), max(r.generation, 2), "weir.events.cost", r.partition, r.offset, at, r.project,
			strings.Repeat("\x00", 16), fmt.Sprintf("reason %d", r.offset), r.payload, max(r.bytes, uint64(len(r.payload)))}
	})
}

// quarantined knows three projections, of which one has no tables yet.
func quarantined(c *Config) {
	c.Generation = func(name string) (int, bool) {
		generation, known := map[string]int{Costs: 2, History: 2, Triage: 0}[name]
		return generation, known
	}
}

const quarantineOfCosts = "/api/projections/costs/quarantine"

func TestQuarantine(t *testing.T) {
	p := newPortal(t, quarantined)
	p.quarantine(
		stuck{offset: 1, after: 5, project: "prj_one", payload: "no JSON", bytes: 70_000},
		stuck{offset: 2, after: 5, payload: "\xff\x00<b>"},
		stuck{offset: 9, after: 7, partition: 3},
		stuck{offset: 3, after: 5, partition: 1},
		stuck{offset: 1, after: 7, generation: 3},
		stuck{offset: 1, after: 7, projection: History},
	)
	all := items(p.get("admin", quarantineOfCosts))
	if got, want := offsets(all), []string{"9", "3", "2", "1"}; !slices.Equal(got, want) {
		t.Fatalf("offsets %v, want %v", got, want)
	}
	want := decode(t, []byte(`{"projection":"costs","topic":"weir.events.cost","partition":0,"offset":1,"project_id":"prj_one",
		"reason":"reason 1","payload":"no JSON","payload_bytes":70000,"received_at":"2026-11-20T12:00:00.005Z","generation":2,"retry":null}`))
	if !reflect.DeepEqual(all[3], want) {
		t.Errorf("got %v, want %v", all[3], want)
	}
	if all[2]["payload"] != "\uFFFD\x00<b>" || all[2]["project_id"] != nil {
		t.Errorf("garbage shows as %v", all[2])
	}
	var paged []string
	for next := ""; ; {
		page := p.get("admin", quarantineOfCosts+"?limit=1"+next)
		paged = append(paged, offsets(items(page))...)
		if page["next_cursor"] == nil {
			break
		}
		next = "&cursor=" + url.QueryEscape(page["next_cursor"].(string))
		p.problem("admin", "/api/projections/history/quarantine?limit=1"+next, 400, httpapi.CodeInvalidParameter)
	}
	if !slices.Equal(paged, offsets(all)) {
		t.Errorf("by pages: %v", paged)
	}
}

func TestQuarantineIsTheAdmins(t *testing.T) {
	p := newPortal(t, quarantined)
	if got := items(p.get("admin", quarantineOfCosts)); len(got) != 0 {
		t.Errorf("an empty quarantine has %v", got)
	}
	p.problem("two", quarantineOfCosts, 403, httpapi.CodeForbidden)
	p.problem("", quarantineOfCosts, 401, httpapi.CodeUnauthorized)
	p.problem("admin", "/api/projections/none/quarantine", 404, httpapi.CodeNotFound)
	p.problem("admin", "/api/projections/triage/quarantine", 503, httpapi.CodeNoReadModel)
	p.problem("admin", quarantineOfCosts+"?limit=0", 400, httpapi.CodeInvalidParameter)
	p.problem("admin", quarantineOfCosts+"?project_id=prj_one", 400, httpapi.CodeInvalidParameter)
}

func offsets(all []map[string]any) (found []string) {
	for _, item := range all {
		found = append(found, fmt.Sprint(item["offset"]))
	}
	return found
}
