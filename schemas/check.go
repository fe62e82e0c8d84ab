package schemas

import (
	"strconv"
	"unicode/utf8"
)

// Reasons that no field of data has.
const (
	reasonShape        = "event: must be an object"
	reasonTypeRequired = "type: required"
	reasonTypeShape    = "type: must be a string"
	reasonTSRequired   = "ts: required"
	reasonTSShape      = "ts: must be an ISO 8601 timestamp in UTC"
	reasonTSRange      = "ts: out of range"
	reasonDataRequired = "data: required"
	reasonDataShape    = "data: must be an object"
)

// judge decides on the event that eventObject has just scanned, which began at
// start. It returns "" for an acceptable event, else the first reason in the
// order type, ts, data, other members. t is meaningful when known.
func (s *scanner) judge(start int) (t Type, known bool, reason string) {
	t, known, reason = s.judgeType(start)
	if reason == "" {
		reason = s.judgeTS(start)
	}
	if reason == "" {
		reason = s.judgeData(start, t)
	}
	if reason == "" {
		reason = s.flawReason(start, partExtra)
	}
	return t, known, reason
}

// flawReason returns the reason for a flaw filed under p, "" if there is none.
func (s *scanner) flawReason(start int, p part) string {
	if !s.flawed || s.flaws[p].problem == "" {
		return ""
	}
	f := s.flaws[p]
	return pathTo(s.body[start:], int(f.at)-start) + ": " + f.problem
}

func (s *scanner) judgeType(start int) (t Type, known bool, reason string) {
	if reason = s.flawReason(start, partType); reason != "" {
		return 0, false, reason
	}
	value := s.partBytes(partType)
	switch {
	case value == nil:
		return 0, false, reasonTypeRequired
	case value[0] != '"':
		return 0, false, reasonTypeShape
	}
	if t, known = typeOf(value[1 : len(value)-1]); known {
		return t, true, ""
	}
	text, _ := StringBytes(value)
	if t, known = typeOf(text); known {
		return t, true, ""
	}
	return 0, false, "type: unknown value " + strconv.Quote(clip(text, 64))
}

func (s *scanner) judgeTS(start int) string {
	if reason := s.flawReason(start, partTS); reason != "" {
		return reason
	}
	value := s.partBytes(partTS)
	switch {
	case value == nil:
		return reasonTSRequired
	case value[0] != '"':
		return reasonTSShape
	}
	_, _, verdict := parseTimestamp(value[1 : len(value)-1])
	if verdict == timeMalformed {
		text, _ := StringBytes(value) // it may be written with escapes
		_, _, verdict = parseTimestamp(text)
	}
	switch verdict {
	case timeMalformed:
		return reasonTSShape
	case timeOutOfRange:
		return reasonTSRange
	default:
		return ""
	}
}

func (s *scanner) judgeData(start int, t Type) string {
	if reason := s.flawReason(start, partData); reason != "" {
		return reason
	}
	value := s.partBytes(partData)
	switch {
	case value == nil:
		return reasonDataRequired
	case value[0] != '{':
		return reasonDataShape
	}
	return s.judgeFields(&rules[t])
}

// judgeFields checks the members of data against the rule of their type, in
// the order of the type's definition.
func (s *scanner) judgeFields(r *rule) string {
	var at [maxFields]uint32 // by field: its member's place in s.names, plus one
	members := s.names[:s.event.data]
	for i := range members {
		if f := r.find(s.nameBytes(&members[i])); f >= 0 {
			at[f] = uint32(i + 1)
		}
	}
	anyOf := r.anyOf == 0
	for f := range r.fields {
		field := &r.fields[f]
		var value []byte
		if at[f] != 0 {
			m := &members[at[f]-1]
			value = s.present(m.value, m.valueEnd)
		}
		if value == nil {
			if field.Required {
				return field.required
			}
			continue
		}
		if reason := field.check(value); reason != "" {
			return reason
		}
		anyOf = anyOf || r.anyOf&(1<<f) != 0
	}
	if !anyOf {
		return r.noneOf
	}
	return ""
}

// check judges one present value, which is well-formed JSON.
func (f *fieldRule) check(value []byte) string {
	ok, inRange := true, true
	switch c := value[0]; f.Kind {
	case Text:
		ok = c == '"'
	case Object:
		ok = c == '{'
	case Boolean:
		ok = c == 't' || c == 'f'
	case Currency:
		_, ok = currencyLetters(value)
	case Integer:
		ok, inRange = checkInteger(value, f.Min, f.Max)
	case Number:
		if ok = isNumber(c); ok {
			inRange = fitsFloat(value)
		}
	case Amount:
		if ok = isNumber(c); ok {
			inRange = fitsDecimal(value)
		}
	}
	switch {
	case !ok:
		return f.mismatch
	case !inRange:
		return f.outOfRange
	default:
		return ""
	}
}

// clip shortens text to at most size bytes, at a character's boundary.
func clip(text []byte, size int) string {
	if len(text) <= size {
		return string(text)
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return string(text[:size]) + "…"
}
