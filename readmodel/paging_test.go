package readmodel

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// pages reads a list to its end and gives the named field of every item;
// between pages it runs meanwhile.
func (p *portal) pages(rt *rapid.T, path, field string, meanwhile func()) []string {
	var got []string
	next := ""
	for range 1000 {
		limit := rapid.IntRange(1, 12).Draw(rt, "limit")
		page := p.get("admin", fmt.Sprintf("%s&limit=%d%s", path, limit, next))
		list := items(page)
		if len(list) > limit {
			rt.Fatalf("%d items on a page of %d", len(list), limit)
		}
		for _, item := range list {
			got = append(got, fmt.Sprint(item[field]))
		}
		if page["next_cursor"] == nil {
			return got
		}
		next = "&cursor=" + url.QueryEscape(page["next_cursor"].(string))
		meanwhile()
	}
	rt.Fatal("no end of pages")
	return nil
}

// TestEventPages gives every row exactly once, newest first, whatever the page
// sizes and however many rows share a time, while newer rows arrive.
func TestEventPages(t *testing.T) {
	p := newPortal(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		project := fmt.Sprintf("prj_%d", n)
		seconds := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 40).Draw(rt, "seconds")
		var rows []row
		var want []string
		for i, s := range seconds {
			r := row{project: project, ts: noon.Add(time.Duration(s)), received: noon}
			r.id[0], r.id[1], r.id[2] = byte(i*37), byte(i), 1
			rows = append(rows, r)
		}
		slices.SortFunc(rows, func(a, b row) int {
			if c := b.ts.Compare(a.ts); c != 0 {
				return c
			}
			return slices.Compare(b.id[:], a.id[:])
		})
		for _, r := range rows {
			want = append(want, fmt.Sprintf("%x", r.id))
		}
		if len(rows) > 0 {
			p.events(rows...)
		}
		late := 0
		got := p.pages(rt, "/api/events?project_id="+project, "event_id", func() {
			late++
			p.events(row{project: project, ts: noon.Add(time.Hour), received: noon, offset: int64(late)})
		})
		if !slices.Equal(got, want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestGroupPages(t *testing.T) {
	p := newPortal(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		project := fmt.Sprintf("prj_%d", n)
		seen := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 30).Draw(rt, "seen")
		var all []occurs
		want := map[string]bool{}
		for i, s := range seen {
			all = append(all, occurs{project: project, group: i*7 + 1, ts: noon.Add(time.Duration(s) * time.Second), name: "E"})
			want[fingerprint(i*7+1)] = true
		}
		p.errors(all...)
		sort := rapid.SampledFrom([]string{ByLastSeen, ByFirstSeen, ByCount}).Draw(rt, "sort")
		order := rapid.SampledFrom([]string{"asc", "desc"}).Draw(rt, "order")
		got := p.pages(rt, "/api/errors/groups?project_id="+project+"&sort="+sort+"&order="+order, "fingerprint", func() {})
		if len(got) != len(want) {
			rt.Fatalf("%d groups, want %d: %v", len(got), len(want), got)
		}
		for _, f := range got {
			if !want[f] {
				rt.Fatalf("group %s twice or foreign", f)
			}
			delete(want, f)
		}
	})
}

func TestDeliveryPages(t *testing.T) {
	p := newPortal(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		project := fmt.Sprintf("prj_%d", n)
		made := rapid.SliceOfN(rapid.IntRange(0, 2), 1, 20).Draw(rt, "made")
		var all []attempt
		for i, m := range made {
			all = append(all, attempt{project: project, delivery: fmt.Sprintf("dlv_%d_%d", n, i), status: "pending", at: noon.Add(time.Duration(m))})
		}
		p.deliveries(all...)
		got := p.pages(rt, "/api/webhooks/deliveries?project_id="+project, "id", func() {})
		slices.Sort(got)
		if len(slices.Compact(slices.Clone(got))) != len(all) || len(got) != len(all) {
			rt.Fatalf("%d of %d deliveries: %v", len(got), len(all), got)
		}
	})
}

// TestLargePagesEndEarly keeps a page of huge events within bounds and still gives all of them.
func TestLargePagesEndEarly(t *testing.T) {
	p := newPortal(t)
	big := make([]byte, 3<<20)
	for i := range big {
		big[i] = 'x'
	}
	for i := range 7 {
		p.events(row{data: `{"message":"` + string(big) + `"}`, ts: noon.Add(time.Duration(i)), offset: int64(i)})
	}
	first := p.get("one", "/api/events")
	if n := len(items(first)); n != 3 || first["next_cursor"] == nil {
		t.Fatalf("%d events on the first page", n)
	}
	total, next := 0, ""
	for {
		page := p.get("one", "/api/events?limit=50"+next)
		total += len(items(page))
		if page["next_cursor"] == nil {
			break
		}
		next = "&cursor=" + page["next_cursor"].(string)
	}
	if total != 7 {
		t.Errorf("%d of 7 events", total)
	}
}
