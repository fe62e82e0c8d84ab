package schemas

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// drawn is an event as text and what must become of it.
type drawn struct{ text, kind, reason string }

// drawEvent draws an event that is right, or has one fault of a known kind.
func drawEvent(t *rapid.T) drawn {
	kind := Type(rapid.IntRange(0, typeCount-1).Draw(t, "type"))
	d := DefinitionOf(kind)
	data := drawData(t, d)
	e := map[string]string{"type": quoted(t, kind.String()), "ts": quoted(t, drawTime(t))}
	reason := ""
	switch rapid.IntRange(0, 9).Draw(t, "fault") {
	case 0:
		delete(e, "ts")
		reason = reasonTSRequired
	case 1:
		e["type"] = quoted(t, "no_such_type")
		reason, kind = `type: unknown value "no_such_type"`, Type(typeCount)
	case 2:
		f := d.Fields[rapid.IntRange(0, len(d.Fields)-1).Draw(t, "field")]
		data[f.Name] = rapid.SampledFrom(wrongValues[f.Kind]).Draw(t, "wrong")
		reason = "data." + f.Name + ": must be " + f.Kind.String()
	case 3:
		f := d.Fields[rapid.IntRange(0, len(d.Fields)-1).Draw(t, "field")]
		if f.Required {
			data[f.Name] = "null"
			reason = "data." + f.Name + ": required"
		}
	}
	e["data"] = encodeObject(t, data)
	return drawn{encodeObject(t, e), wireName(kind), reason}
}

func wireName(t Type) string {
	if !t.Valid() {
		return ""
	}
	return t.String()
}

// drawData draws a right payload: required fields, some optional and unknown
// ones.
func drawData(t *rapid.T, d Definition) map[string]string {
	data := map[string]string{}
	for _, f := range d.Fields {
		if f.Required || len(d.AnyOf) > 0 && f.Name == d.AnyOf[0] || rapid.Bool().Draw(t, "has "+f.Name) {
			data[f.Name] = drawValue(t, f)
		}
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.String(), 0, 30, rapid.ID).Draw(t, "unknown") {
		if rules[d.Type].find([]byte(name)) < 0 {
			data[name] = rapid.SampledFrom([]string{`1`, `"x"`, `null`, `[{"a":1},{"a":2}]`, `{"b":{}}`, `1e999`}).Draw(t, "free")
		}
	}
	return data
}

func drawValue(t *rapid.T, f Field) string {
	switch f.Kind {
	case Text:
		return quoted(t, rapid.String().Draw(t, f.Name))
	case Currency:
		return quoted(t, rapid.StringMatching(`[A-Za-z]{3}`).Draw(t, f.Name))
	case Integer:
		b, _ := json.Marshal(rapid.Int64Range(f.Min, f.Max).Draw(t, f.Name))
		return string(b)
	case Number:
		b, _ := json.Marshal(rapid.Float64().Draw(t, f.Name))
		return string(b)
	case Amount:
		return rapid.StringMatching(`-?(0|[1-9][0-9]{0,19})(\.[0-9]{1,38})?`).Draw(t, f.Name)
	case Boolean:
		return rapid.SampledFrom([]string{"true", "false"}).Draw(t, f.Name)
	default:
		return rapid.SampledFrom([]string{`{}`, `{"a":{"b":[1,2,{"c":null}]}}`}).Draw(t, f.Name)
	}
}

func drawTime(t *rapid.T) string {
	last := time.Date(2200, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
	ts := time.Unix(rapid.Int64Range(0, last).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
	return ts.Format(time.RFC3339Nano)
}

// quoted encodes a string, sometimes with needless escapes.
func quoted(t *rapid.T, text string) string {
	if rapid.IntRange(0, 3).Draw(t, "escape") > 0 {
		b, _ := json.Marshal(text)
		return string(b)
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		b.Write(appendEscaped(nil, r))
	}
	b.WriteByte('"')
	return b.String()
}

// appendEscaped writes a character as \uXXXX, as a pair if need be.
func appendEscaped(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	if r >= 0x10000 {
		r -= 0x10000
		return appendEscaped(appendEscaped(dst, highSurrogate+r>>10), lowSurrogate+r&0x3ff)
	}
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// encodeObject writes members in a random order with random white space.
func encodeObject(t *rapid.T, members map[string]string) string {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	space := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space")
	out := "{" + space
	for i, name := range rapid.Permutation(names).Draw(t, "order") {
		if i > 0 {
			out += "," + space
		}
		out += quoted(t, name) + space + ":" + members[name] + space
	}
	return out + "}"
}

func TestParseGivesBackWhatWasEncoded(t *testing.T) {
	var batch Batch
	rapid.Check(t, func(t *rapid.T) {
		events := make([]drawn, rapid.IntRange(0, 5).Draw(t, "events"))
		texts := make([]string, len(events))
		for i := range events {
			events[i] = drawEvent(t)
			texts[i] = events[i].text
		}
		if err := batch.Parse(bodyOf(texts...)); err != nil {
			t.Fatal(err)
		}
		if batch.Count != len(events) || len(batch.Events)+len(batch.Rejected) != len(events) {
			t.Fatalf("count %d, want %d", batch.Count, len(events))
		}
		for _, e := range batch.Events {
			if w := events[e.Index]; w.reason != "" || w.kind != e.Type.String() || w.text != string(e.Raw) {
				t.Fatalf("taken: %s\nwanted %q", e.Raw, w.reason)
			}
		}
		for _, r := range batch.Rejected {
			if w := events[r.Index]; w.reason != r.Reason || w.kind != r.Type || w.text != string(r.Raw) {
				t.Fatalf("%s\n got %q of type %q\nwant %q of type %q", r.Raw, r.Reason, r.Type, w.reason, w.kind)
			}
		}
	})
}

func TestStringsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "text")
		value := []byte(quoted(t, want))
		if got, ok := String(value); !ok || got != want {
			t.Fatalf("%s: got %q, want %q", value, got, want)
		}
		if got, ok := AppendString([]byte("x"), value); !ok || string(got) != "x"+want {
			t.Fatalf("%s: appended %q, want %q", value, got, want)
		}
		if got, _ := StringBytes(value); !utf8.Valid(got) {
			t.Fatalf("%s: decoded to invalid UTF-8 %q", value, got)
		}
	})
}

func TestDecimalAgainstBigRationals(t *testing.T) {
	scale := new(big.Rat).SetInt(power(DecimalScale))
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,45})?([eE][-+]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		text := number.Draw(t, "amount")
		exact, _ := new(big.Rat).SetString(text)
		units := new(big.Rat).Mul(exact, scale)
		fits := units.IsInt() && new(big.Rat).Abs(exact).Cmp(new(big.Rat).SetInt(power(MaxAmountDigits))) < 0
		d, err := ParseDecimal([]byte(text))
		if (err == nil) != fits || fits != fitsDecimal([]byte(text)) {
			t.Fatalf("%s: %v, should fit: %v", text, err, fits)
		}
		if err != nil {
			return
		}
		if d.BigInt().Cmp(units.Num()) != 0 {
			t.Fatalf("%s: %s units, want %s", text, d.BigInt(), units.Num())
		}
		back, err := ParseDecimal([]byte(d.String()))
		if err != nil || back != d {
			t.Fatalf("%s: printed %s, read back as %s, %v", text, d, back, err)
		}
		double, ok := d.Add(d)
		if !ok || double.BigInt().Cmp(new(big.Int).Lsh(d.BigInt(), 1)) != 0 {
			t.Fatalf("%s + %s = %s", d, d, double)
		}
	})
}

func TestIntAgainstBigRationals(t *testing.T) {
	number := rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,3})?([eE][-+]?[0-9]{1,2})?`),
		rapid.StringMatching(`-?922337203685477580[0-9](\.0{0,3}0)?`),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := number.Draw(t, "integer")
		exact, _ := new(big.Rat).SetString(text)
		want := exact.IsInt() && exact.Num().IsInt64()
		got, ok := Int([]byte(text))
		if ok != want || ok && got != exact.Num().Int64() {
			t.Fatalf("%s: got %d, %v", text, got, ok)
		}
	})
}

func TestTimesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawTime(t)
		want, _ := time.Parse(time.RFC3339Nano, text)
		got, err := ParseTime([]byte(text))
		if err != nil || !got.Equal(want) || got.Location() != time.UTC {
			t.Fatalf("%s: got %v, %v", text, got, err)
		}
	})
}

// TestPathsNameThePlace hides a flaw in a random nest and expects its path.
func TestPathsNameThePlace(t *testing.T) {
	var batch Batch
	noise := []string{`1`, `"[{,:\"}"`, `{"x":[1,{"y":2}]}`, `[]`, `["a",["b"]]`, `null`}
	rapid.Check(t, func(t *rapid.T) {
		text, path := `{"x":1,"y":2,"x":3}`, ".x"
		want := flawDuplicate
		if rapid.Bool().Draw(t, "surrogate") {
			text, path, want = `"text\udfff"`, "", flawSurrogate
		}
		for range rapid.IntRange(0, 30).Draw(t, "depth") {
			before := rapid.SliceOfN(rapid.SampledFrom(noise), 0, 3).Draw(t, "before")
			if rapid.Bool().Draw(t, "array") {
				path = fmt.Sprintf("[%d]%s", len(before), path)
				text = "[" + strings.Join(append(before, text, "0"), ", ") + "]"
				continue
			}
			object := "{ "
			for i, v := range before {
				object += fmt.Sprintf(`"n%d" : %s,`, i, v)
			}
			path = ".in" + path
			text = object + `"in": ` + text + `,"z":0}`
		}
		if err := batch.Parse(bodyOf(eventWith("log", `{"message":"m","f":`+text+`}`))); err != nil || len(batch.Rejected) != 1 {
			t.Fatalf("%s: %v", text, err)
		}
		if got := batch.Rejected[0].Reason; got != "data.f"+path+": "+want {
			t.Fatalf("%s\n got %s\nwant data.f%s: %s", text, got, path, want)
		}
	})
}
