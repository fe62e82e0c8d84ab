package ingest

import (
	"strings"
	"testing"

	"weir/ingest/limits"
)

// faults stand in the order in which decisions.md has them checked. Where two
// are in one request, the earlier one decides the answer.
var faults = []struct {
	name   string
	status int
	code   string
	mend   func(*post)
	excl   string // names of faults that can't be in the same request
	door   func(t *testing.T, d *door)
}{
	{name: "bearer", status: 401, code: "unauthorized", mend: func(p *post) { p.bearer = "nobody" }},
	{name: "content type", status: 400, code: "invalid_content_type", mend: func(p *post) { p.kind = "text/plain" }},
	{name: "announced length", status: 413, code: "batch_too_large", excl: "length while reading",
		mend: func(p *post) { p.body += strings.Repeat(" ", smallLimit) }},
	{name: "shed", status: 503, code: "overloaded", mend: func(*post) {},
		door: func(_ *testing.T, d *door) { d.Drain() }},
	{name: "length while reading", status: 413, code: "batch_too_large",
		mend: func(p *post) { p.body += strings.Repeat(" ", smallLimit); p.chunked = true }},
	{name: "signature", status: 403, code: "bad_signature", mend: func(p *post) { p.signature = sign(secretB, "x") }},
	{name: "key", status: 400, code: "invalid_idempotency_key", excl: "repeat", mend: func(p *post) { p.key = "not-a-uuid" }},
	{name: "repeat", status: 200, mend: func(p *post) { p.key = someKey },
		door: func(t *testing.T, d *door) {
			if got := d.do(t, post{body: oneLog, key: someKey}); got.status != 200 {
				t.Fatal("the first of the repeats:", got)
			}
		}},
	{name: "limit", status: 429, code: "rate_limited", mend: func(*post) {},
		door: func(t *testing.T, d *door) {
			d.cfg.Limiter.Charge("prj_a", d.cfg.Rates, 5000, d.cfg.Now())
		}},
	{name: "encoding", status: 400, code: "invalid_encoding", mend: func(p *post) { p.encoding = "br" }},
	{name: "json", status: 400, code: "invalid_json", mend: func(p *post) { p.body = "{" + p.body }},
}

const (
	smallLimit = 4 << 10
	someKey    = "123e4567-e89b-12d3-a456-426614174000"
)

func TestTheEarlierFaultDecides(t *testing.T) {
	for i, first := range faults {
		for j := i; j < len(faults); j++ {
			second := faults[j]
			if first.excl == second.name {
				continue
			}
			t.Run(first.name+" and "+second.name, func(t *testing.T) {
				clock := newFakeClock()
				d := newDoor(t, func(c *Config) {
					c.MaxBatchBytes, c.Now, c.Rates = smallLimit, clock.Now, limits.Default
				})
				p := post{body: oneLog}
				// The later one is set up first: a door that sheds can't be prepared any more.
				for _, f := range []int{j, i} {
					faults[f].mend(&p)
				}
				for _, f := range []int{7, 8, 3} {
					if (f == i || f == j) && faults[f].door != nil {
						faults[f].door(t, d)
					}
				}
				before := len(events(d.log))
				got := d.do(t, p)
				if got.status != first.status || got.code != first.code {
					t.Errorf("got %v, want %d %s", got, first.status, first.code)
				}
				if n := len(events(d.log)); n != before {
					t.Errorf("%d events were appended", n-before)
				}
				if replayed := got.header.Get(headerReplayed) != ""; replayed != (first.name == "repeat") {
					t.Errorf("%s: %v", headerReplayed, replayed)
				}
				retry := got.header.Get("Retry-After")
				if (retry != "") != (got.status == 429 || got.status == 503) {
					t.Errorf("Retry-After %q with %d", retry, got.status)
				}
			})
		}
	}
}
