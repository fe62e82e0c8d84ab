package readmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Filter is one condition on a field of an event's data, as the repeatable
// parameter where gives it; an event must satisfy all of them.
//
//	where=level=error              the field is the text error
//	where=statusCode>=500          the field is a number, 500 or more
//	where=fields.user=7            a field of a nested object; 7 or "7"
//	where=message~time out         the text holds it, in any case of letters
//	where=path!=/health            the opposite of =, so also without the field
//	where=fields.user exists       the field is there and not null
//	where=fields.user !exists
//
// A path is names joined by dots. A name with a dot, a space or one of
// = ! < > ~ " in it stands in JSON quotes: where="a.b".c=1. Blanks around the
// operator and the value do not count. A value in JSON quotes is compared as
// text only; without quotes, = also matches a number or boolean of that value
// (1 matches 1.0), and < <= > >= compare numbers when the value is a number,
// else texts, byte by byte. Elements of arrays have no path; ~ looks into the
// JSON text of an array or object.
//
// Bounds: 10 filters a request, 1,024 bytes a filter, 16 names a path.
// A field inside an event's data that also holds a number beyond the range of
// a 64-bit float (1e400) cannot be read by the engine; such an event matches
// like one without the field.
type Filter struct {
	Path   []string
	Op     Op
	Value  string
	Quoted bool // the value was given in quotes: it is text
}

// Op is the operator of a Filter.
type Op string

// The operators of where.
const (
	Equal          Op = "="
	NotEqual       Op = "!="
	Greater        Op = ">"
	GreaterOrEqual Op = ">="
	Less           Op = "<"
	LessOrEqual    Op = "<="
	Contains       Op = "~"
	Exists         Op = "exists"
	Missing        Op = "!exists"
)

const (
	maxFilters     = 10
	maxFilterBytes = 1024
	maxPathNames   = 16
)

// symbols in the order they are looked for: the longer first.
var symbols = []Op{NotEqual, GreaterOrEqual, LessOrEqual, Equal, Greater, Less, Contains}

var errFilterForm = errors.New(`must be <field> <operator> <value>, operators = != > >= < <= ~, or <field> exists, or <field> !exists`)

// ParseFilter reads one filter. The error says what is wrong with it.
func ParseFilter(s string) (Filter, error) {
	if len(s) > maxFilterBytes {
		return Filter{}, fmt.Errorf("must be at most %d bytes", maxFilterBytes)
	}
	if !utf8.ValidString(s) {
		return Filter{}, errors.New("must be valid UTF-8")
	}
	path, rest, err := parsePath(strings.TrimLeft(s, " "))
	if err != nil {
		return Filter{}, err
	}
	f := Filter{Path: path}
	rest = strings.TrimSpace(rest)
	if rest == string(Exists) || rest == string(Missing) {
		f.Op = Op(rest)
		return f, nil
	}
	for _, op := range symbols {
		if v, ok := strings.CutPrefix(rest, string(op)); ok {
			f.Op = op
			return f, f.setValue(strings.TrimSpace(v))
		}
	}
	return Filter{}, errFilterForm
}

func (f *Filter) setValue(v string) error {
	f.Value = v
	if !strings.HasPrefix(v, `"`) {
		return nil
	}
	if json.Unmarshal([]byte(v), &f.Value) != nil {
		return errors.New("a value that begins with a quote must be one JSON string")
	}
	f.Quoted = true
	return nil
}

func parsePath(s string) (path []string, rest string, err error) {
	for {
		name, after, err := parseName(s)
		if err != nil {
			return nil, "", err
		}
		if path = append(path, name); len(path) > maxPathNames {
			return nil, "", fmt.Errorf("a path has at most %d names", maxPathNames)
		}
		if s, rest = strings.TrimPrefix(after, "."), after; s == after {
			return path, rest, nil
		}
	}
}

func parseName(s string) (name, rest string, err error) {
	if strings.HasPrefix(s, `"`) {
		d := json.NewDecoder(strings.NewReader(s))
		if d.Decode(&name) != nil {
			return "", "", errors.New("a name that begins with a quote must be a JSON string")
		}
		return name, s[d.InputOffset():], nil
	}
	end := strings.IndexAny(s, ".=!<>~\" ")
	if end < 0 {
		end = len(s)
	}
	if end == 0 {
		return "", "", errFilterForm
	}
	return s[:end], s[end:], nil
}

// condition is the filter as SQL over the column data. The raw JSON of the
// field is cut out once; the engine computes equal expressions only once.
func (f Filter) condition(b *builder) string {
	names := make([]string, len(f.Path))
	for i, name := range f.Path {
		names[i] = b.text(name)
	}
	raw := "JSONExtractRaw(data, " + strings.Join(names, ", ") + ")"
	switch f.Op {
	case Exists:
		return raw + " NOT IN ('', 'null')"
	case Missing:
		return raw + " IN ('', 'null')"
	case Equal:
		return f.hint(b) + f.equals(b, raw)
	case NotEqual:
		return "NOT " + f.equals(b, raw)
	case Contains:
		return f.hint(b) + "positionCaseInsensitiveUTF8(JSONExtractString(" + raw + "), " + b.text(f.Value) + ") > 0"
	default:
		return f.ordered(b, raw)
	}
}

func (f Filter) equals(b *builder, raw string) string {
	text := "JSONExtractString(" + raw + ") = " + b.text(f.Value)
	if f.Quoted {
		return "(startsWith(" + raw + ", '\"') AND " + text + ")"
	}
	if n, ok := f.number(b); ok {
		return "((" + raw + " != '' AND " + text + ") OR " + numeric(raw, Equal, n) + ")"
	}
	return "(" + raw + " != '' AND " + text + ")"
}

func (f Filter) ordered(b *builder, raw string) string {
	if n, ok := f.number(b); ok {
		return numeric(raw, f.Op, n)
	}
	return "(startsWith(" + raw + ", '\"') AND JSONExtractString(" + raw + ") " + string(f.Op) + " " + b.text(f.Value) + ")"
}

// numeric compares the field's number with the placeholder n. Integers of 64
// bits are compared as integers, exactly; other numbers as 64-bit floats.
func numeric(raw string, op Op, n string) string {
	return fmt.Sprintf("coalesce(toInt64OrNull(%[1]s) %[2]s %[3]s, toUInt64OrNull(%[1]s) %[2]s %[3]s, toFloat64OrNull(%[1]s) %[2]s %[3]s, 0)",
		raw, string(op), n)
}

// number is a placeholder for the value as a number, if it is one.
func (f Filter) number(b *builder) (string, bool) {
	if f.Quoted || !json.Valid([]byte(f.Value)) {
		return "", false
	}
	if i, err := strconv.ParseInt(f.Value, 10, 64); err == nil {
		return b.arg("Int64", i), true
	}
	if u, err := strconv.ParseUint(f.Value, 10, 64); err == nil {
		return b.arg("UInt64", u), true
	}
	if x, err := strconv.ParseFloat(f.Value, 64); err == nil {
		return b.arg("Float64", x), true
	}
	return "", false
}
