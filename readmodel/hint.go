package readmodel

import (
	"encoding/json"
	"strings"
)

// minHint is the shortest text worth looking for before parsing.
const minHint = 3

// hint is a cheap condition, with " AND " after it, that every event which
// satisfies the filter satisfies too: a piece of the value must stand in the
// JSON text. Finding it takes a quarter of the time that parsing does. JSON has
// more than one way to write a value, so an event with escapes or exponents
// always passes. "" when there is no good hint.
func (f Filter) hint(b *builder) string {
	position, escape := "position", escapes
	piece := plainest(f.Value)
	switch {
	case f.Op == Contains:
		position = "positionCaseInsensitiveUTF8"
	case !f.Quoted && json.Valid([]byte(f.Value)):
		if piece = shortestNumber(f.Value); piece == "" {
			return ""
		}
		escape = escapesOrExponents
	}
	if len(piece) < minHint {
		return ""
	}
	return "(" + position + "(data, " + b.text(piece) + ") > 0 OR " + escape + " > 0) AND "
}

// Conditions for values written in another way than usual. Exponents are
// looked for as digit and e, which finds them all and much else; a pattern
// would find fewer, but takes longer than it saves.
const (
	escapes            = `position(data, '\\u')`
	escapesOrExponents = `multiSearchAny(data, ['\\u', '0e', '1e', '2e', '3e', '4e', '5e', '6e', '7e', '8e', '9e', ` +
		`'0E', '1E', '2E', '3E', '4E', '5E', '6E', '7E', '8E', '9E'])`
)

// plainest is the longest piece of s that JSON writes in one way only, apart
// from \u escapes: ASCII letters, digits and the signs that need no escape.
func plainest(s string) string {
	longest := ""
	for _, piece := range strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"\/`, r) }) {
		if len(piece) > len(longest) {
			longest = piece
		}
	}
	return longest
}

// shortestNumber is what every way of writing the number without an exponent
// begins with; "" when it has one itself, or is no number.
func shortestNumber(s string) string {
	if strings.Trim(s, "-0123456789.") != "" {
		return ""
	}
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
