package schemas

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestOpen(t *testing.T) {
	for _, kind := range Types() {
		e, err := Open([]byte(sampleEvent(kind)))
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if e.Type != kind || e.TS.Format(time.RFC3339Nano) != sampleTime || string(e.Data) != sampleData[kind] || e.HasExtra() {
			t.Errorf("%s: %+v", kind, e)
		}
		if got := string(e.AppendExtra(nil)); got != "{}" {
			t.Errorf("%s: extra %s", kind, got)
		}
	}
}

func TestOpenKeepsExtraMembers(t *testing.T) {
	raw := ` { "a" : [1, 2] , "type":"log","b\u0021":{"x": "y"},"d\u0061ta":{"message":"m"},"ts":"` + sampleTime + `" , "c":null } `
	e, err := Open([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(e.AppendExtra([]byte("="))), `={"a":[1, 2],"b\u0021":{"x": "y"},"c":null}`; got != want || !e.HasExtra() {
		t.Errorf("got %s, want %s", got, want)
	}
	if string(e.Data) != `{"message":"m"}` {
		t.Errorf("data %s", e.Data)
	}
}

func TestOpenRefusesWhatIsNoEvent(t *testing.T) {
	for raw, want := range map[string]error{
		``:                          ErrMalformed,
		`null`:                      ErrMalformed,
		`{"type":"log"`:             ErrMalformed,
		sampleEvent(Log) + `x`:      ErrMalformed,
		"\xff":                      ErrMalformed,
		`{}`:                        ErrNoType,
		`{"type":1}`:                ErrNoType,
		`{"type":"nope"}`:           ErrNoType,
		`{"type":"log"}`:            ErrTimeMalformed,
		`{"type":"log","ts":"now"}`: ErrTimeMalformed,
		`{"type":"log","ts":"1969-12-31T00:00:00Z","data":{}}`:            ErrTimeRange,
		`{"type":"log","ts":"` + sampleTime + `"}`:                        ErrNoData,
		`{"type":"log","ts":"` + sampleTime + `","data":[]}`:              ErrNoData,
		`{"x":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}`: ErrMalformed,
	} {
		if _, err := Open([]byte(raw)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", raw, err, want)
		}
	}
}

func TestMembers(t *testing.T) {
	object := []byte(` {"a":1, "b\u0062" : [2] ,"":"x","a":{}} `)
	var got strings.Builder
	if err := Members(object, func(name, value []byte) bool {
		got.WriteString(string(name) + "=" + string(value) + ";")
		return true
	}); err != nil || got.String() != `a=1;bb=[2];=x;a={};` && got.String() != `a=1;bb=[2];="x";a={};` {
		t.Errorf("%s, %v", got.String(), err)
	}
	seen := 0
	if err := Members([]byte(`{"a":1,"b":2,!`), func(_, _ []byte) bool { seen++; return seen < 2 }); err != nil || seen != 2 {
		t.Errorf("a walk that was ended early: %v after %d members", err, seen)
	}
	for _, broken := range []string{``, `[]`, `{`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{"a":1}}`, `{"a":01}`, `{"a":"` + "\xff" + `"}`} {
		if err := Members([]byte(broken), func(_, _ []byte) bool { return true }); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", broken, err)
		}
	}
	if v, ok := Member(object, "bb"); !ok || string(v) != "[2]" {
		t.Errorf("bb is %s, %v", v, ok)
	}
	if v, ok := Member(object, "c"); ok {
		t.Errorf("c is %s", v)
	}
}

func TestElements(t *testing.T) {
	var got strings.Builder
	if err := Elements([]byte(` [1, "a" ,{"b":[]},[]] `), func(v []byte) bool {
		got.WriteString(string(v) + ";")
		return true
	}); err != nil || got.String() != `1;"a";{"b":[]};[];` {
		t.Errorf("%s, %v", got.String(), err)
	}
	for _, broken := range []string{``, `{}`, `[`, `[1`, `[1,]`, `[1]]`, `[,]`} {
		if err := Elements([]byte(broken), func([]byte) bool { return true }); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", broken, err)
		}
	}
}

func TestValues(t *testing.T) {
	if v, ok := Bool([]byte("true")); !ok || !v {
		t.Error("true is not read")
	}
	if _, ok := Bool([]byte(`"true"`)); ok {
		t.Error("a string is read as a boolean")
	}
	if f, ok := Float([]byte("-1.5e3")); !ok || f != -1500 {
		t.Errorf("-1.5e3 is %v, %v", f, ok)
	}
	for _, bad := range []string{"", "1e400", "NaN", "0x1p4", "1_0", "Infinity", `"1"`} {
		if f, ok := Float([]byte(bad)); ok {
			t.Errorf("%q is read as %v", bad, f)
		}
	}
	for _, bad := range []string{"", "1.5", "9223372036854775808", `"1"`, "null", "1x", "01"} {
		if n, ok := Int([]byte(bad)); ok {
			t.Errorf("%q is read as %d", bad, n)
		}
	}
	if code, ok := CurrencyCode([]byte(`"eUr"`)); !ok || code != "EUR" {
		t.Errorf("eUr is %q, %v", code, ok)
	}
	if !IsNull(nil) || !IsNull([]byte("null")) || IsNull([]byte("0")) {
		t.Error("null is not what is null")
	}
	if s, ok := String([]byte(`"a\u00e9\ud83d\ude00\ud800\n"`)); !ok || s != "aé😀\ufffd\n" {
		t.Errorf("decoded to %q, %v", s, ok)
	}
}

func TestResetLetsGo(t *testing.T) {
	var batch Batch
	if err := batch.Parse(mixedBody(100)); err != nil {
		t.Fatal(err)
	}
	events := batch.Events
	batch.Reset()
	if len(batch.Events) != 0 || batch.Count != 0 || events[0].Raw != nil {
		t.Error("a batch that was reset keeps its body")
	}
	if err := batch.Parse(bodyOf(strings.Repeat("1,", 2*keptEvents) + "1")); err != nil {
		t.Fatal(err)
	}
	batch.Reset()
	if cap(batch.Rejected) > keptEvents {
		t.Errorf("room for %d refusals is kept", cap(batch.Rejected))
	}
}
