package grouping

import "testing"

// typical are the benchmark's payloads: one common occurrence of each runtime.
var typical = []string{
	"javascript/cart-pay-undefined", "python/django-view-orders", "java/spring-orders-place", "golang/http-handler-nil-map",
	"dotnet/async-place", "ruby/zero-division", "php/pdo-chain", "rust/index-panic", "messages/user-not-found",
}

// BenchmarkGroup is the fold's cost of one parsed occurrence.
func BenchmarkGroup(b *testing.B) {
	all := readCorpus(b)
	for _, name := range typical {
		p := find(b, all, name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(p.Stack) + len(p.Message)))
			for b.Loop() {
				Group("prj_1", p)
			}
		})
	}
}

// BenchmarkParsePayload is the cost of reading an occurrence's JSON.
func BenchmarkParsePayload(b *testing.B) {
	data := jsonOf(find(b, readCorpus(b), "java/spring-orders-place"))
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := ParsePayload(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkExplain is the cost of saying why, which is paid once per group and not per occurrence.
func BenchmarkExplain(b *testing.B) {
	p := find(b, readCorpus(b), "java/spring-orders-place")
	b.ReportAllocs()
	for b.Loop() {
		Explain("prj_1", p)
	}
}

// find gives the first occurrence of a group.
func find(t testing.TB, all []occurrence, group string) Payload {
	for _, o := range all {
		if o.group == group {
			return o.payload
		}
	}
	t.Fatalf("no group %s in the corpus", group)
	return Payload{}
}

// TestGroupAllocs keeps the hot path from allocating: a grouping that does is
// felt at 100,000 errors a second.
func TestGroupAllocs(t *testing.T) {
	all := readCorpus(t)
	for _, name := range typical {
		p := find(t, all, name)
		// One for the culprit; paths with a backslash are rewritten. The pool is left out: the race
		// detector empties it at random.
		d := &decider{rules: everyFrame}
		if n := testing.AllocsPerRun(200, func() { d.result("prj_1", &p) }); n > 3 {
			t.Errorf("Group of %s allocates %v times, want at most 3", name, n)
		}
	}
}
