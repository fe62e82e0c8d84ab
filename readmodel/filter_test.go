package readmodel

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// spelled are values as JSON text, several of them one value in other spellings.
var spelled = []string{
	`7`, `7.0`, `70e-1`, `7.5`, `-3`, `1500`, `1.5e3`, `1500.000`, `15E2`, `9007199254740993`, `9007199254740992`, `true`, `false`,
	`"7"`, `"1500"`, `"error"`, `"\u0065rror"`, `"ERROR"`, `"a/b/c"`, `"a\/b\/c"`, `"say \"hi\""`, `"say \u0022hi\u0022"`, `"café"`, `"caf\u00e9"`, `"true"`, `"x\ny"`,
}

// asked are values of filters; quoted ones are texts only.
var asked = []string{"7", "7.0", "1500", "1.5e3", "1500.50", "9007199254740993", "-3", "true", "error", "rror", "a/b/c", `say "hi"`, "café", `"7"`, `"1500"`, `"caf\u00e9"`, "x\ny"}

// expect is what a filter must say of a field's value, in plain Go; known is
// false where the rule leaves it open.
func expect(f Filter, present bool, value any) (want, known bool) {
	text, isText := value.(string)
	switch f.Op {
	case Exists:
		return present, true
	case Missing:
		return !present, true
	case Contains:
		return isText && strings.Contains(strings.ToLower(text), strings.ToLower(f.Value)), isText || !present
	case NotEqual:
		f.Op = Equal
		want, known = expect(f, present, value)
		return !want, known
	}
	if !present {
		return false, true
	}
	number, isNumber := rational(value)
	against, ok := rational(json.Number(f.Value))
	if f.Quoted || !json.Valid([]byte(f.Value)) {
		ok = false
	}
	if f.Op == Equal {
		truth, isBool := value.(bool)
		return isText && text == f.Value || ok && isNumber && number.Cmp(against) == 0 || isBool && !f.Quoted && fmt.Sprint(truth) == f.Value, true
	}
	if ok {
		return isNumber && ordered(f.Op, number.Cmp(against)), true
	}
	return isText && ordered(f.Op, strings.Compare(text, f.Value)), true
}

func rational(v any) (*big.Rat, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

func ordered(op Op, c int) bool {
	switch op {
	case Less:
		return c < 0
	case LessOrEqual:
		return c <= 0
	case Greater:
		return c > 0
	}
	return c >= 0
}

// TestFiltersMeanWhatTheySay compares the engine with plain Go over every
// operator and every spelling of a value.
func TestFiltersMeanWhatTheySay(t *testing.T) {
	p := newPortal(t)
	var rows []row
	var values []any
	for _, s := range append([]string{""}, spelled...) {
		member := ""
		var v any
		if s != "" {
			member = `"k":` + s + `,`
			d := json.NewDecoder(strings.NewReader(s))
			d.UseNumber()
			if err := d.Decode(&v); err != nil {
				t.Fatal(err)
			}
		}
		values = append(values, v)
		rows = append(rows, row{data: `{"n":{` + member + `"z":1},"m":"m"}`})
	}
	p.events(rows...)
	rapid.Check(t, func(rt *rapid.T) {
		op := rapid.SampledFrom([]Op{Equal, NotEqual, Greater, GreaterOrEqual, Less, LessOrEqual, Contains, Exists, Missing}).Draw(rt, "op")
		where := "n.k " + string(op)
		if op != Exists && op != Missing {
			where += " " + rapid.SampledFrom(asked).Draw(rt, "value")
		}
		f, err := ParseFilter(where)
		if err != nil {
			rt.Fatal(err)
		}
		var got []string
		for _, item := range items(p.get("one", "/api/events?limit=200&where="+url.QueryEscape(where))) {
			got = append(got, fmt.Sprint(item["ts"]))
		}
		for i, v := range values {
			want, known := expect(f, i > 0, v)
			has := slices.Contains(got, noon.Add(time.Duration(i)*time.Second).Format("2006-01-02T15:04:05Z"))
			if known && want != has {
				rt.Errorf("where=%q of %s: got %v, want %v", where, rows[i].data, has, want)
			}
		}
	})
}
