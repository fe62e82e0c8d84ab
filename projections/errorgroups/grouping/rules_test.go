package grouping

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// same and different say whether two stacks of one exception must be one group.
func same(t *testing.T, why string, a, b Payload) {
	t.Helper()
	if Group("p", a).Fingerprint != Group("p", b).Fingerprint {
		t.Errorf("%s: should be one group:\n%s\n--- and\n%s", why, Explain("p", a).Canonical, Explain("p", b).Canonical)
	}
}

func different(t *testing.T, why string, a, b Payload) {
	t.Helper()
	if Group("p", a).Fingerprint == Group("p", b).Fingerprint {
		t.Errorf("%s: should be two groups:\n%s", why, Explain("p", a).Canonical)
	}
}

// stack makes a payload of a stack.
func stack(lines ...string) Payload {
	return Payload{Name: "E", Message: "m", Stack: strings.Join(lines, "\n")}
}

// TestFunctionRules holds the rule of each runtime for what stays of a function's name.
func TestFunctionRules(t *testing.T) {
	for _, c := range []struct {
		lang     language
		in, want string
	}{
		{golang, "main.handle.func1", "main.handle.func"},
		{golang, "main.handle.func1.2", "main.handle.func"},
		{golang, "main.main.func1.(*S).handle.1", "main.(*S).handle.func"},
		{golang, "main.(*S).handle-fm", "main.(*S).handle"},
		{golang, "main.Map[...]", "main.Map"},
		{golang, "main.Map[go.shape.int]", "main.Map"},
		{golang, "main.(*List[...]).Push", "main.(*List).Push"},
		{golang, "main.walk.func1-range2", "main.walk.func"},
		{golang, "main.init.0", "main.init"},
		{golang, "main.glob..func3", "main.glob.func"},
		{golang, "main.serve.gowrap2", "main.serve.func"},
		{golang, "github.com/acme/shop/v2/cart.(*Store).Put", "github.com/acme/shop/v2/cart.(*Store).Put"},
		{golang, "gopkg.in/yaml%2ev3.Unmarshal", "gopkg.in/yaml%2ev3.Unmarshal"},
		{golang, "shop/vendor/github.com/a/b.F", "github.com/a/b.F"},
		{python, "Cart.total", "total"},
		{python, "<lambda>", "<lambda>"},
		{java, "com.acme.A.lambda$low$0", "com.acme.A.lambda$low$"},
		{java, "com.acme.A$1.run", "com.acme.A$.run"},
		{java, "com.acme.A$Inner.run", "com.acme.A$Inner.run"},
		{java, "com.acme.A$$Lambda$14/0x0000000800066840.run", "com.acme.A$$Lambda.run"},
		{java, "com.acme.A$$Lambda/0x00007f1c3c001a08.run", "com.acme.A$$Lambda.run"},
		{java, "com.acme.A$$EnhancerBySpringCGLIB$$1a2b.run", "com.acme.A.run"},
		{java, "com.acme.A$$SpringCGLIB$$0.run", "com.acme.A.run"},
		{java, "com.acme.Repo$load$2.invokeSuspend", "com.acme.Repo$load$.invokeSuspend"},
		{java, "com.acme.Main$$anonfun$main$1.apply", "com.acme.Main$$anonfun$main$.apply"},
		{java, "com.acme.my_class.do_it", "com.acme.my_class.do_it"},
		{javaScript, "Object.pay [as onclick]", "pay"},
		{javaScript, "new Cart", "Cart"},
		{javaScript, "get total [as total]", "total"},
		{javaScript, "async Cart.load", "load"},
		{javaScript, "checkout/<", "<anonymous>"},
		{javaScript, "checkout/pay", "pay"},
		{javaScript, "Cart.prototype.pay", "pay"},
		{javaScript, "Object.<anonymous>", "<anonymous>"},
		{javaScript, "global code", "<anonymous>"},
		{javaScript, "_callee2$", "_callee"},
		{javaScript, "Module../src/cart.js", "<anonymous>"},
		{javaScript, "Cart.#secret", "#secret"},
		{dotNet, "Acme.Foo.<Bar>d__12.MoveNext", "Acme.Foo.Bar"},
		{dotNet, "Acme.Foo.<>c__DisplayClass5_0.<Bar>b__0", "Acme.Foo.Bar.lambda"},
		{dotNet, "Acme.Foo.<>c.<Bar>b__5_0", "Acme.Foo.Bar.lambda"},
		{dotNet, "Acme.Foo.<Bar>g__Local|5_0", "Acme.Foo.Bar.Local"},
		{dotNet, "Acme.Foo.<>c__DisplayClass0_0.<<Bar>b__0>d.MoveNext", "Acme.Foo.Bar.lambda"},
		{dotNet, "Acme.List`1.Add", "Acme.List.Add"},
		{dotNet, "Acme.Foo.Map[TSource]", "Acme.Foo.Map"},
		{dotNet, "Program.<Main>$", "Program.Main"},
		{dotNet, "Acme.Foo..ctor", "Acme.Foo.ctor"},
		{ruby, "block (2 levels) in total", "total"},
		{ruby, "rescue in Cart#total", "total"},
		{ruby, "Net::HTTP.get", "get"},
		{ruby, "_app_views_users_show_html_erb___123_45", "_app_views_users_show_html_erb"},
		{php, "App\\Cart->total", "App\\Cart::total"},
		{php, "App\\Cart::{closure:App\\Cart::total():8}", "{closure}"},
		{php, "class@anonymous\x00/srv/a.php:3$0->run", "class@anonymous::run"},
		{rust, "shop::load::h4aa671daf2c1af4f", "shop::load"},
		{rust, "shop[aa8293b1aa0f68bd]::load::{closure#0}", "shop::load::{closure}"},
		{rust, "shop::load::{{closure}}", "shop::load::{closure}"},
		{rust, "shop::map::<alloc::vec::Vec<u8>>::go", "shop::map::go"},
		{rust, "<shop::T as core::fmt::Display>::fmt", "<shop::T as core::fmt::Display>::fmt"},
	} {
		if got := string(appendFunction(nil, c.lang, &Frame{Function: c.in})); got != c.want {
			t.Errorf("%v %q: got %q, want %q", c.lang, c.in, got, c.want)
		}
	}
}

// TestFileRules holds what stays of a file's place.
func TestFileRules(t *testing.T) {
	for _, c := range []struct {
		lang     language
		in, want string
	}{
		{javaScript, "https://shop.example.com/static/js/main.3f2a9c1b.js?v=7", "main.js"},
		{javaScript, "https://cdn.example.net/x/main-BfA3xY_9.js", "main.js"},
		{javaScript, "https://cdn.example.net/main.3f2a9c1b.chunk.js", "main.chunk.js"},
		{javaScript, "https://cdn.example.net/jquery-3.6.0.min.js", "jquery.js"},
		{javaScript, "https://cdn.example.net/chunk-7XQJ3K2A.js", "chunk.js"},
		{javaScript, "https://cdn.example.net/1234.5a6b7c8d9e0f.js", "#.js"},
		{javaScript, "webpack-internal:///./src/editor/save.ts", "save.ts"},
		{javaScript, "webpack://shop/./src/editor/index.ts?a1b2", "editor/index.ts"},
		{javaScript, "file:///usr/src/app/src/cart.js", "cart.js"},
		{javaScript, `C:\Users\bob\work\shop\src\users\index.js`, "users/index.js"},
		{javaScript, "/app/node_modules/.pnpm/express@4.18.2/node_modules/express/lib/router/layer.js", "lib/router/layer.js"},
		{javaScript, "/srv/shop/sha256.js", "sha256.js"},
		{python, "/home/ana/shop/orders/views.py", "orders/views.py"},
		{python, "/app/orders/views.py", "orders/views.py"},
		{python, "/home/runner/work/shop/shop/orders/views.py", "orders/views.py"},
		{python, "/srv/any/folder/main.py", "main.py"},
		{python, "/home/ana/dev/shop/main.py", "main.py"},
		{python, "/srv/venv/lib/python3.11/site-packages/django/db/models/query.py", "db/models/query.py"},
		{python, "<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>"},
		{python, "<ipython-input-5-a1b2c3>", "<ipython-input"},
		{ruby, "/usr/local/bundle/gems/rack-2.2.3/lib/rack/etag.rb", "lib/rack/etag.rb"},
		{ruby, "/srv/shop/releases/20261121/app/models/cart.rb", "cart.rb"},
	} {
		for range 2 { // what it remembers is the same
			if got := string(appendFile(nil, c.lang, c.in)); got != c.want {
				t.Errorf("%v %q: got %q, want %q", c.lang, c.in, got, c.want)
			}
		}
	}
}

// TestStackRules holds the rules that choose links and frames, one by one.
func TestStackRules(t *testing.T) {
	base := stack("E: m", "    at pay (/srv/shop/cart.js:7:11)", "    at checkout (/srv/shop/cart.js:9:2)")
	same(t, "line and column", base, stack("E: m", "    at pay (/srv/shop/cart.js:70:1)", "    at checkout (/srv/shop/cart.js:90:20)"))
	same(t, "library frames beside own", base, stack("E: m", "    at pay (/srv/shop/cart.js:7:11)", "    at lib (/srv/shop/node_modules/x/index.js:1:1)", "    at checkout (/srv/shop/cart.js:9:2)"))
	same(t, "recursion", base, stack("E: m", "    at pay (/srv/shop/cart.js:7:11)", "    at checkout (/srv/shop/cart.js:9:2)", "    at pay (/srv/shop/cart.js:7:11)", "    at checkout (/srv/shop/cart.js:9:2)"))
	different(t, "another function", base, stack("E: m", "    at refund (/srv/shop/cart.js:7:11)", "    at checkout (/srv/shop/cart.js:9:2)"))
	different(t, "another order", base, stack("E: m", "    at checkout (/srv/shop/cart.js:9:2)", "    at pay (/srv/shop/cart.js:7:11)"))
	different(t, "another file", base, stack("E: m", "    at pay (/srv/shop/bank.js:7:11)", "    at checkout (/srv/shop/cart.js:9:2)"))
	library := stack("E: m", "    at lib (/srv/shop/node_modules/x/index.js:1:1)")
	different(t, "library frames decide when there are no others", library, stack("E: m", "    at lib (/srv/shop/node_modules/y/index.js:1:1)"))

	other := base
	other.Message = "quite another message"
	same(t, "a stack goes before the message", base, other)
	other.Name = "F"
	different(t, "the type counts", base, other)
	if Group("p", base).Fingerprint == Group("q", base).Fingerprint {
		t.Error("two projects share a fingerprint")
	}
}

// TestChainRules holds the rules about causes and wrappers.
func TestChainRules(t *testing.T) {
	wrapped := func(cause string) Payload {
		return stack("com.acme.E: m", "\tat com.acme.A.a(A.java:1)", "Caused by: "+cause, "\tat com.acme.B.b(B.java:2)", "\t... 1 more")
	}
	different(t, "a wrapper does not hide its cause", wrapped("java.io.IOException: x"), wrapped("java.sql.SQLException: x"))
	same(t, "the cause's message", wrapped("java.io.IOException: x"), wrapped("java.io.IOException: y"))
	with := wrapped("java.io.IOException: x")
	with.Stack += "\n\tSuppressed: java.lang.Error: z\n\t\tat com.acme.C.c(C.java:1)"
	same(t, "suppressed exceptions", wrapped("java.io.IOException: x"), with)

	retry := "Traceback (most recent call last):\n  File \"/app/net.py\", line 1, in get\nTimeoutError: late\n\nDuring handling of the above exception, another exception occurred:\n\n"
	last := "Traceback (most recent call last):\n  File \"/app/net.py\", line 1, in get\nTimeoutError: late"
	same(t, "retries repeat a link", stack(retry+last), stack(retry+retry+retry+last))
}

// TestFieldsDoNotRunTogether: the canonical form tells "ab","c" from "a","bc", whatever signs are in them.
func TestFieldsDoNotRunTogether(t *testing.T) {
	for _, pair := range [][2]Payload{
		{{Name: "ab", Message: "c"}, {Name: "a", Message: "bc"}},
		{{Name: "a\x1eb", Message: "c"}, {Name: "a", Message: "b\x1ec"}},
		{{Fingerprint: []string{"a", "b"}}, {Fingerprint: []string{"a\x1f\x1eclient\x1fb"}}},
		{{Fingerprint: []string{"a", "b"}}, {Fingerprint: []string{"ab"}}},
	} {
		different(t, "separators", pair[0], pair[1])
	}
	if Group("a", Payload{Name: "bE"}).Fingerprint == Group("ab", Payload{Name: "E"}).Fingerprint {
		t.Error("project and type run together")
	}
}

// TestValuesDoNotMatter renames the numbers, ids and texts of a message: the group stays.
func TestValuesDoNotMatter(t *testing.T) {
	words := rapid.SampledFrom([]string{"user", "cannot read", "failed:", "in", "of", "utf-8", "HTTP/1.1", "x86_64", "(see", "retry,", "python3.11"})
	values := []*rapid.Generator[string]{
		rapid.Map(rapid.IntRange(0, 1<<40), func(n int) string { return itoa(n) }),
		rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
		rapid.StringMatching(`0x[0-9a-f]{4,16}`),
		rapid.StringMatching(`20[0-9]{2}-[01][0-9]-[0-2][0-9]T[01][0-9]:[0-5][0-9]:[0-5][0-9]Z`),
		rapid.StringMatching(`[a-z]{3,9}@[a-z]{3,9}\.com`),
		rapid.StringMatching(`https://[a-z]{3,9}\.example\.com/[a-z0-9/]{0,20}x`),
		rapid.StringMatching(`"[a-zA-Z ]{1,20}"`),
		rapid.StringMatching(`/[a-z]{1,9}/[a-z]{1,9}\.log`),
		rapid.StringMatching(`1?[0-9]{1,2}\.1?[0-9]{1,2}\.1?[0-9]{1,2}\.1?[0-9]{1,2}`),
		rapid.StringMatching(`[1-9][0-9]{0,4}ms`),
	}
	rapid.Check(t, func(t *rapid.T) {
		var a, b strings.Builder
		for range rapid.IntRange(1, 8).Draw(t, "parts") {
			word := words.Draw(t, "word")
			value := values[rapid.IntRange(0, len(values)-1).Draw(t, "kind")]
			for _, s := range []*strings.Builder{&a, &b} {
				s.WriteString(word + " " + value.Draw(t, "value") + " ")
			}
		}
		if x, y := Normalize(a.String()), Normalize(b.String()); x != y {
			t.Fatalf("%q became %q\n%q became %q", a.String(), x, b.String(), y)
		}
	})
}

// TestTypeMatters changes the exception's type, of any payload of the corpus: the group changes.
func TestTypeMatters(t *testing.T) {
	all := readCorpus(t)
	rapid.Check(t, func(t *rapid.T) {
		p := all[rapid.IntRange(0, len(all)-1).Draw(t, "payload")].payload
		q := p
		p.Name = rapid.StringMatching(`[A-Z][a-z]{2,8}Error`).Draw(t, "type")
		q.Name = p.Name + "Too"
		if first := Explain("p", p).Exceptions; len(first) > 0 && !first[0].Used {
			t.Skip("the type of a wrapper that only carries its cause has no part")
		}
		equal := Group("p", p).Fingerprint == Group("p", q).Fingerprint
		if custom := isCustom(p.Fingerprint) && !strings.Contains(p.Fingerprint[0], "default"); equal != custom {
			t.Fatalf("types %s and %s: equal is %v\n%s", p.Name, q.Name, equal, Explain("p", p).Canonical)
		}
	})
}

// TestLinesDoNotMatter moves every line number of the corpus' stacks: the group stays.
func TestLinesDoNotMatter(t *testing.T) {
	for _, o := range readCorpus(t) {
		moved := o.payload
		moved.Stack = moveLines(moved.Stack)
		if Group("p", o.payload).Fingerprint != Group("p", moved).Fingerprint {
			t.Errorf("%s %q moves with its lines:\n%s\n--- and\n%s", o.group, o.variant, Explain("p", o.payload).Canonical, Explain("p", moved).Canonical)
		}
	}
}

// moveLines puts a 7 behind each number that follows a colon, "line " or a parenthesis.
func moveLines(stack string) string {
	var b strings.Builder
	for i := 0; i < len(stack); i++ {
		b.WriteByte(stack[i])
		ends := i+1 == len(stack) || strings.IndexByte(":)\n,", stack[i+1]) >= 0
		if isDigit(stack[i]) && ends && placed(stack[:i]) {
			b.WriteByte('7')
		}
	}
	return b.String()
}

// placed says whether the number that s ends in is a line or a column.
func placed(s string) bool {
	s = strings.TrimRight(s, "0123456789")
	return strings.HasSuffix(s, "js:") || strings.HasSuffix(s, "py\", line ") || strings.HasSuffix(s, ".java:") || strings.HasSuffix(s, ".go:") || strings.HasSuffix(s, ".php(")
}

// itoa writes n in decimal.
func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// TestVersions: the current rules are found by their number, others are refused with the choice.
func TestVersions(t *testing.T) {
	v, err := Lookup(Algorithm)
	if err != nil {
		t.Fatal(err)
	}
	if p := (Payload{Name: "E"}); v.Group("p", p) != Group("p", p) {
		t.Error("the current version groups differently")
	}
	if _, err := Lookup(99); err == nil || !strings.Contains(err.Error(), "1") {
		t.Errorf("Lookup(99) says %v", err)
	}
}

// TestPlaceOfFailure: under version 2 the innermost frame of the own code decides, and the rest is as in version 1.
func TestPlaceOfFailure(t *testing.T) {
	stack := func(calls ...string) Payload {
		text := "TypeError: x"
		for _, c := range calls {
			text += "\n    at " + c + " (/srv/shop/" + c + ".js:3:1)"
		}
		return Payload{Name: "TypeError", Message: "x", Stack: text}
	}
	chosen, err := Lookup(2)
	if err != nil {
		t.Fatal(err)
	}
	group := func(v Version, p Payload) [16]byte { return v.Group("p", p).Fingerprint }
	a, b, other := stack("pay", "ship"), stack("pay", "bill"), stack("login", "ship")
	switch one := everyFrame.version(); {
	case group(one, a) == group(one, b):
		t.Error("version 1 does not tell callers apart")
	case group(chosen, a) != group(chosen, b):
		t.Error("version 2 tells callers apart")
	case group(chosen, a) == group(chosen, other):
		t.Error("version 2 does not tell places apart")
	case group(one, stack("pay")) != group(chosen, stack("pay")):
		t.Error("a group that both see alike has two names")
	}
	if why := chosen.Explain("p", a); why.Algorithm != 2 || !why.Exceptions[0].Frames[0].Used || why.Exceptions[0].Frames[1].Used {
		t.Errorf("explained as %+v", why)
	}
	for _, o := range readCorpus(t) {
		for _, v := range versions {
			r, names := GroupAndNames("p", o.payload, v, versions, nil)
			if r != v.Group("p", o.payload) || names[0] != group(versions[0], o.payload) || names[1] != group(versions[1], o.payload) {
				t.Fatalf("%s %s under version %d: what all versions give at once is not what each gives", o.group, o.variant, v.Number)
			}
		}
	}
}
