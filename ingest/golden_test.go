package ingest

import (
	"bufio"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"weir/ingest/limits"
)

// TestGolden runs the pairs of testdata/door.txt, in their order, against one
// gateway whose clock stands still. A pair is
//
//	=== name
//	header: value              as sent; "secret", "chunked" and "moved" are directives
//	(empty line)
//	body
//	--- status
//	header: value              each must be in the answer; "header:" must not be
//	(empty line)
//	body                       exact; for problems a part of it
//
// Content-Type, Authorization and the signature are those of project a unless given.
func TestGolden(t *testing.T) {
	clock := newFakeClock()
	d := newDoor(t, func(c *Config) { c.Now, c.Rates, c.MaxBatchBytes = clock.Now, limits.Default, smallLimit })
	for _, pair := range readPairs(t, "testdata/door.txt") {
		t.Run(pair.name, func(t *testing.T) {
			pair.check(t, d.do(t, pair.post()))
		})
	}
}

type pair struct {
	name   string
	header http.Header
	body   string
	want   reply
}

func readPairs(t *testing.T, file string) (pairs []*pair) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split("\n"+string(text), "\n=== ")[1:] {
		request, answer, ok := strings.Cut(part, "\n--- ")
		name, request, ok2 := strings.Cut(request, "\n")
		if !ok || !ok2 {
			t.Fatalf("%s: pair %q has no answer", file, name)
		}
		p := &pair{name: name}
		p.header, p.body = headAndBody(request)
		status, answer, _ := strings.Cut(answer, "\n")
		if _, err := fmt.Sscan(status, &p.want.status); err != nil {
			t.Fatalf("%s: pair %q: status %q", file, name, status)
		}
		p.want.header, p.want.body = headAndBody(answer)
		pairs = append(pairs, p)
	}
	return pairs
}

func headAndBody(text string) (http.Header, string) {
	head, body, _ := strings.Cut("\n"+text, "\n\n")
	h := http.Header{}
	lines := bufio.NewScanner(strings.NewReader(head))
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok {
			h[name] = append(h[name], strings.TrimSpace(value))
		}
	}
	return h, strings.TrimSpace(body)
}

func (p *pair) post() post {
	q := post{body: p.body, more: maps.Clone(p.header)}
	q.secret, q.chunked = p.header.Get("Secret"), p.header.Get("Chunked") != ""
	for _, directive := range []string{"Secret", "Chunked"} {
		delete(q.more, directive)
	}
	for name, values := range q.more {
		if slices.Equal(values, []string{"-"}) {
			delete(q.more, name)
			switch name {
			case "Content-Type":
				q.kind = "-"
			case "Authorization":
				q.bearer = "-"
			case headerSignature:
				q.signature = "-"
			}
		}
	}
	return q
}

func (p *pair) check(t *testing.T, got reply) {
	t.Helper()
	if got.status != p.want.status {
		t.Fatalf("got %v, want %d", got, p.want.status)
	}
	for name, values := range p.want.header {
		if have := strings.Join(got.header[name], "; "); have != strings.Join(values, "; ") {
			t.Errorf("%s: got %q, want %q", name, have, values)
		}
	}
	kind := "application/json"
	if got.status != http.StatusOK {
		kind = "application/problem+json"
		if !strings.Contains(got.body, p.want.body) {
			t.Errorf("body %s lacks %s", got.body, p.want.body)
		}
	} else if got.body != p.want.body {
		t.Errorf("got  %s\nwant %s", got.body, p.want.body)
	}
	if have := got.header.Get("Content-Type"); have != kind {
		t.Errorf("Content-Type %q, want %q", have, kind)
	}
}
