package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// This file is a second, slow and independent reading of the rules, on
// encoding/json and jsontext. Differential tests hold the scanner against it.

// verdict is what the reference says of one event.
type verdict struct {
	raw    string
	kind   string // type name, when accepted
	reason string // "" when accepted; "flaw" for a duplicate name or surrogate inside
}

// flawed stands for a reason whose path the reference does not work out.
const flawed = "flaw"

var (
	errReferenceJSON   = errors.New("invalid_json")
	errReferenceEvents = errors.New("events_missing")
)

// referenceParse reads a body. The error is a BatchError's code.
func referenceParse(body []byte) ([]verdict, error) {
	valid := json.Valid(body) && utf8.Valid(body)
	if second := jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); second && utf8.Valid(body) != valid {
		return nil, errors.New("encoding/json and jsontext disagree on the grammar")
	}
	if !valid || deepest(body) > MaxDepth {
		return nil, errReferenceJSON
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errReferenceEvents
	}
	var events json.RawMessage
	seen := 0
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		if name == "events" {
			seen++
			events = value
		}
	}
	switch {
	case seen > 1:
		return nil, errReferenceJSON
	case seen == 0 || events[0] != '[':
		return nil, errReferenceEvents
	}
	var list []json.RawMessage
	if err := json.Unmarshal(events, &list); err != nil {
		return nil, err
	}
	var all []verdict
	for _, raw := range list {
		v := referenceEvent(raw)
		v.raw = string(raw)
		all = append(all, v)
	}
	return all, nil
}

// deepest counts the containers around the deepest value of well-formed JSON.
func deepest(body []byte) int {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	depth, most := 0, 0
	for {
		t, err := dec.Token()
		if err == io.EOF {
			return most
		}
		if err != nil {
			// encoding/json itself gives up at a depth of 10,000.
			return MaxDepth + 1
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
			most = max(most, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

func referenceEvent(raw []byte) verdict {
	if raw[0] != '{' {
		return verdict{reason: reasonShape}
	}
	flaws := referenceFlaws(raw)
	var event map[string]json.RawMessage
	if err := json.Unmarshal(raw, &event); err != nil {
		return verdict{reason: "unreadable: " + err.Error()}
	}
	reason := referenceFields(event, flaws)
	if reason == "" && flaws["other"] {
		reason = flawed
	}
	if reason != "" {
		return verdict{reason: reason}
	}
	var kind string
	_ = json.Unmarshal(event["type"], &kind)
	return verdict{kind: kind}
}

// referenceFlaws says which members of an event are twice, or hold a duplicate
// name or an unpaired surrogate.
func referenceFlaws(raw []byte) map[string]bool {
	flaws := map[string]bool{}
	seen := map[string]bool{}
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	_, _ = dec.ReadToken()
	for dec.PeekKind() == '"' {
		token, _ := dec.ReadValue()
		badName := !token.Clone().IsValid()
		var name string
		_ = json.Unmarshal(token, &name)
		value, _ := dec.ReadValue()
		part := "other"
		if name == "type" || name == "ts" || name == "data" {
			part = name
		}
		if badName || seen[name] || !value.IsValid() {
			flaws[part] = true
		}
		seen[name] = true
	}
	return flaws
}

func referenceFields(event map[string]json.RawMessage, flaws map[string]bool) string {
	kind, reason := referenceType(event["type"])
	if flaws["type"] {
		return flawed
	}
	if reason != "" {
		return reason
	}
	switch {
	case flaws["ts"]:
		return flawed
	case absent(event["ts"]):
		return reasonTSRequired
	}
	if reason := referenceTime(event["ts"]); reason != "" {
		return reason
	}
	switch {
	case flaws["data"]:
		return flawed
	case absent(event["data"]):
		return reasonDataRequired
	case event["data"][0] != '{':
		return reasonDataShape
	}
	var data map[string]json.RawMessage
	_ = json.Unmarshal(event["data"], &data)
	return referenceData(definitions[kind], data)
}

func absent(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

func referenceType(v json.RawMessage) (Type, string) {
	var name string
	switch {
	case absent(v):
		return 0, reasonTypeRequired
	case json.Unmarshal(v, &name) != nil:
		return 0, reasonTypeShape
	}
	for _, t := range Types() {
		if t.String() == name {
			return t, ""
		}
	}
	return 0, "type: unknown value"
}

// timeShape is needed beside time.Parse, which takes an hour of one digit.
var timeShape = regexp.MustCompile(`^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|\+00:00)$`)

func referenceTime(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) != nil {
		return reasonTSShape
	}
	if !timeShape.MatchString(text) {
		return reasonTSShape
	}
	ts, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text))
	switch {
	case err != nil:
		return reasonTSShape
	case ts.Year() < 1970 || ts.Year() > 2200:
		return reasonTSRange
	}
	return ""
}

func referenceData(d Definition, data map[string]json.RawMessage) string {
	found := len(d.AnyOf) == 0
	for _, f := range d.Fields {
		v := data[f.Name]
		if absent(v) {
			if f.Required {
				return "data." + f.Name + ": required"
			}
			continue
		}
		for _, name := range d.AnyOf {
			found = found || name == f.Name
		}
		if problem := referenceField(f, v); problem != "" {
			return "data." + f.Name + ": " + problem
		}
	}
	if !found {
		return "data." + d.AnyOf[0] + ": required"
	}
	return ""
}

func referenceField(f Field, v json.RawMessage) string {
	var text string
	isText := json.Unmarshal(v, &text) == nil
	var digits json.Number
	isNumber := v[0] != '"' && json.Unmarshal(v, &digits) == nil
	var ok bool
	switch f.Kind {
	case Text:
		ok = isText
	case Currency:
		ok = isText && len(text) == 3
		for _, c := range text {
			ok = ok && (c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z')
		}
	case Boolean:
		ok = string(v) == "true" || string(v) == "false"
	case Object:
		ok = v[0] == '{'
	default:
		ok = isNumber
	}
	if !ok {
		return "must be " + f.Kind.String()
	}
	return referenceNumber(f, string(v))
}

func referenceNumber(f Field, v string) string {
	switch f.Kind {
	case Number:
		if _, err := strconv.ParseFloat(v, 64); err != nil {
			return "out of range"
		}
	case Integer, Amount:
		// big.Rat would fill memory with hostile exponents.
		if _, e, _ := strings.Cut(strings.ToLower(v), "e"); len(strings.TrimLeft(e, "+-0")) > 3 {
			return referenceExtreme(f, v)
		}
		r, _ := new(big.Rat).SetString(v)
		if f.Kind == Integer {
			return referenceInteger(f, r)
		}
		scaled := new(big.Rat).Mul(r, new(big.Rat).SetInt(power(DecimalScale)))
		limit := new(big.Rat).SetInt(power(MaxAmountDigits))
		if !scaled.IsInt() || r.Abs(r).Cmp(limit) >= 0 {
			return "out of range"
		}
	}
	return ""
}

func referenceInteger(f Field, r *big.Rat) string {
	switch {
	case !r.IsInt():
		return "must be an integer"
	case r.Cmp(new(big.Rat).SetInt64(f.Min)) < 0 || r.Cmp(new(big.Rat).SetInt64(f.Max)) > 0:
		return "out of range"
	}
	return ""
}

// referenceExtreme judges a number with an exponent of four digits or more.
func referenceExtreme(f Field, v string) string {
	mantissa, e, _ := strings.Cut(strings.ToLower(v), "e")
	switch {
	case strings.Trim(mantissa, "-.0") == "":
		return "" // zero
	case f.Kind == Integer && strings.HasPrefix(e, "-"):
		return "must be an integer"
	default:
		return "out of range"
	}
}

func power(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }
