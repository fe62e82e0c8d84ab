package grouping

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// jsonOf gives a payload as a client sends it.
func jsonOf(p Payload) []byte {
	data, _ := json.Marshal(map[string]any{"name": p.Name, "message": p.Message, "stack": p.Stack})
	return data
}

// hostileUnits are what hostile texts repeat: each makes some pattern look far ahead and fail.
var hostileUnits = []string{
	"'", "\"", "`", "\\", "/", "//", "a/", "./", "../", "1:", "1.", "1,", "1-", "a@", "@", "a.b.", "::", "a:", "ff:", "{\"a\":", "[", "{{", "<", "((",
	"e1", "1e", "0x", "-", "a-1", "a_", "%", "“", "«", "\xff", "\x00", "\x1e", "\x1f", "é", "\n", "\r\n", " ", "\t", "2026-", "Jan 1 ", "eyJ", "http://", "a1B2", "1s", "PT1",
	"at a (", "at ", "    at a.b(C.java:1)\n", "    at f (http://x/a.js:1:1)\n", "f@http://x/a.js:1:1\n", "Caused by: a: b\n", "Suppressed: x\n\tat a.b(C.java:1)\n\t... 999999 more\n",
	"  File \"x\", line 1, in f\n", "During handling of the above exception\nTraceback\n  File \"x\", line 1, in f\nE: m\n", "goroutine 1 [running]:\n", "main.f()\n\t/a.go:1 +0x1\n",
	"#0 a(1): f()\n", "Next E: m in f:1\n#0 a(1): f()\n", "   at A.B(C c) in f:line 1\n", " ---> E: m", "   --- End of inner exception stack trace ---\n", "a.rb:1:in `f': m (E)\n",
	"thread 'x' panicked at a.rs:1:1:\n", "  0: a::b\n", "at /a.rs:1\n", "[cause]: E: m\n", "... 5 lines matching cause stack trace ...\n", "main.f[", "a.func1.", "<<", "<>c.", "::<", "$$Lambda", "$1", "/src", "/src/",
}

// TestHostileTexts gives a megabyte of each as message, as stack and as frames: there is an answer, and soon.
func TestHostileTexts(t *testing.T) {
	for _, unit := range hostileUnits {
		text := strings.Repeat(unit, (1<<20)/len(unit))
		for _, head := range []string{"", "Error: x\n    at f (http://x/a.js:1:1)\n", "\tat a.b(C.java:1)\n", "  File \"x\", line 1, in f\n", "goroutine 1 [running]:\n",
			"a.rb:1:in `f': m (E)\n", "#0 a(1): f()\n#1 {main}\n", "   at A.B(C c) in f:line 1\n", "thread 'x' panicked at a.rs:1:1:\nm\n"} {
			begin := time.Now()
			Group("p", Payload{Name: "E", Message: text, Stack: head + text})
			if took := time.Since(begin); took > 3*time.Second {
				t.Errorf("%d bytes of %q after %q took %v", len(text), unit, head, took)
			}
		}
	}
}

// TestNormaliserSteps bounds the work by what is counted, not by a clock.
func TestNormaliserSteps(t *testing.T) {
	for _, unit := range hostileUnits {
		for _, size := range []int{1 << 10, 1 << 14, 1 << 20} {
			var n normaliser
			n.run(nil, strings.Repeat(unit, size/len(unit)+1))
			read := min(size+len(unit), maxMessageBytes)
			if limit := 400 * read; n.steps > limit {
				t.Errorf("%d bytes of %q took %d steps, want at most %d", size, unit, n.steps, limit)
			}
		}
	}
}

// TestHostilePayloads are the forms that must be answered and never stop a fold.
func TestHostilePayloads(t *testing.T) {
	frames := strings.Repeat(`{"function":"f","file":"a.js","line":1},`, 10_000)
	deep := strings.Repeat(`{"cause":`, 5000) + `{}` + strings.Repeat(`}`, 5000)
	for name, data := range map[string]string{
		"empty":              ``,
		"not an object":      `[1,2]`,
		"text":               `"boom"`,
		"cut off":            `{"name":"E","message":"mm`,
		"stack is a number":  `{"name":"E","stack":17}`,
		"stack is true":      `{"name":"E","stack":true}`,
		"stack is null":      `{"name":"E","stack":null}`,
		"name is an object":  `{"name":{"a":1},"message":[1]}`,
		"fingerprint is odd": `{"name":"E","fingerprint":{"a":[1]}}`,
		"fingerprint nulls":  `{"name":"E","fingerprint":[null,1,{"a":2}]}`,
		"10,000 frames":      `{"name":"E","stack":[` + strings.TrimSuffix(frames, ",") + `]}`,
		"odd frames":         `{"name":"E","stack":[1,null,"x",[],{"line":"a","file":7},{"function":{"x":1}}]}`,
		"1 MB message":       `{"name":"E","message":"` + strings.Repeat("a1 ", 350_000) + `"}`,
		"deep causes":        `{"name":"E","cause":` + deep + `}`,
		"deep stack":         `{"name":"E","stack":` + strings.Repeat(`{"frames":`, 3000) + `[]` + strings.Repeat(`}`, 3000) + `}`,
		"deep array":         `{"name":"E","stack":` + strings.Repeat(`[`, 3000) + strings.Repeat(`]`, 3000) + `}`,
		"arrays of causes":   `{"name":"E","causes":` + strings.Repeat(`[`, 200_000) + strings.Repeat(`]`, 200_000) + `}`,
		"a long name":        `{"name":"E","stack":[{"function":"` + strings.Repeat(`f.`, 500_000) + `","file":"` + strings.Repeat(`/f`, 500_000) + `"}]}`,
		"cyclic ids":         `{"name":"E","causes":[{"id":1,"cause_id":1,"type":"A"},{"id":2,"cause_id":1}]}`,
		"half a surrogate":   `{"name":"E\ud800","message":"\udc00x\ud83d","stack":"\ud800"}`,
		"control characters": `{"name":"E\u0000\u001e\u001f","message":"a\u001eb\u0007"}`,
		"invalid utf-8":      "{\"name\":\"E\xff\",\"message\":\"\xc3\"}",
		"bad escapes":        `{"name":"\u12","message":"\q\`,
	} {
		p, err := ParsePayload([]byte(data))
		if err != nil && err != ErrNotObject {
			t.Errorf("%s: %v", name, err)
		}
		r, e := Group("prj", p), Explain("prj", p)
		if r.Hex() != e.Fingerprint || r.Name == "" {
			t.Errorf("%s: grouped as %s %q, explained as %s", name, r.Hex(), r.Name, e.Fingerprint)
		}
		if _, err := json.Marshal(e); err != nil {
			t.Errorf("%s: explanation: %v", name, err)
		}
	}
}

// TestBounds: what lies beyond the bounds changes nothing, and costs nothing in the answer.
func TestBounds(t *testing.T) {
	long := strings.Repeat("word ", 100_000)
	a, b := Group("p", Payload{Name: "E", Message: long + "a"}), Group("p", Payload{Name: "E", Message: long + "b"})
	if a.Fingerprint != b.Fingerprint {
		t.Error("two messages that differ after 500 kB are two groups")
	}
	if len(a.Message) > maxShownBytes {
		t.Errorf("the shown message has %d bytes", len(a.Message))
	}
	e := Explain("p", Payload{Name: strings.Repeat("N", 1<<20), Message: strings.Repeat("'x' 1 ", 200_000), Stack: strings.Repeat("\tat a.b(C.java:1)\n", 50_000)})
	if data, _ := json.Marshal(e); len(data) > 64<<10 {
		t.Errorf("the explanation of a hostile payload has %d bytes", len(data))
	}
}

// FuzzGroup looks for panics and for answers that differ between Group and Explain.
func FuzzGroup(f *testing.F) {
	for _, o := range readCorpus(f) {
		f.Add(jsonOf(o.payload))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, _ := ParsePayload(data)
		if r, e := Group("p", p), Explain("p", p); r.Hex() != e.Fingerprint {
			t.Fatalf("Group says %s, Explain says %s", r.Hex(), e.Fingerprint)
		}
	})
}

// FuzzStack feeds the parsers text without the JSON around it.
func FuzzStack(f *testing.F) {
	for _, o := range readCorpus(f) {
		f.Add(o.payload.Stack)
	}
	for _, unit := range hostileUnits {
		f.Add(strings.Repeat(unit, 3))
	}
	f.Fuzz(func(t *testing.T, stack string) {
		var tr trace
		tr.parse(stack)
		for i, l := range tr.links {
			if l.from < 0 || l.to < l.from || l.to > len(tr.frames) {
				t.Fatalf("link %d has frames %d to %d of %d", i, l.from, l.to, len(tr.frames))
			}
		}
		Group("p", Payload{Name: "E", Stack: stack})
	})
}

// FuzzNormalize checks the bounds of work and size, and that a second pass finds nothing that the first
// would have turned into something longer.
func FuzzNormalize(f *testing.F) {
	for _, o := range readCorpus(f) {
		f.Add(o.payload.Message)
	}
	for _, unit := range hostileUnits {
		f.Add(strings.Repeat(unit, 3))
	}
	f.Fuzz(func(t *testing.T, message string) {
		var n normaliser
		out := n.run(nil, message)
		if len(out) > maxNormalBytes {
			t.Fatalf("%d bytes written", len(out))
		}
		if limit := 2000 + 400*min(len(message), maxMessageBytes); n.steps > limit {
			t.Fatalf("%d bytes took %d steps, want at most %d", len(message), n.steps, limit)
		}
	})
}

// ExampleExplain shows what an explanation says.
func ExampleExplain() {
	e := Explain("prj_1", Payload{Name: "NotFound", Message: "user 17 is not in utf-8"})
	fmt.Println(e.Decided)
	fmt.Println(e.Normalized)
	fmt.Println(e.Message[0].From, "->", e.Message[0].To, "by", e.Message[0].Rule)
	// Output:
	// type_and_message
	// user <n> is not in utf-8
	// 17 -> <n> by number
}
