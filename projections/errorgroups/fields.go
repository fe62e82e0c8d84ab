package errorgroups

import (
	"encoding/json"
	"unicode/utf8"

	"weir/projections"
	"weir/schemas"
)

// fields are the members of an error event's data that have a column. Strings
// point into the record or the arena.
type fields struct {
	message, release, environment, service string
	stack, request                         string // JSON as sent
	metadata                               string // JSON object of all other members

	arena *projections.Arena
	rest  []byte
}

func (f *fields) reset(arena *projections.Arena) { *f = fields{arena: arena, rest: f.rest[:0]} }

// member takes one member of the data object.
func (f *fields) member(name, value []byte) bool {
	switch string(name) {
	case "name", "fingerprint": // these are for grouping
	case "message":
		f.message = text(value)
	case "release":
		f.release = text(value)
	case "environment":
		f.environment = text(value)
	case "service":
		f.service = text(value)
	case "stack":
		f.stack = raw(value)
	case "request":
		f.request = raw(value)
	default:
		f.keep(name, value)
	}
	return true
}

// keep adds a member to the metadata.
func (f *fields) keep(name, value []byte) {
	separator := byte(',')
	if len(f.rest) == 0 {
		separator = '{'
	}
	f.rest = append(f.rest, separator)
	f.rest = appendName(f.rest, name)
	f.rest = append(f.rest, ':')
	f.rest = append(f.rest, value...)
}

func (f *fields) finish() {
	if len(f.rest) > 0 {
		f.rest = append(f.rest, '}')
		f.metadata = f.arena.Add(f.rest)
	}
}

// appendName appends a member's decoded name as a JSON string.
func appendName(dst, name []byte) []byte {
	for _, c := range name {
		if c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			quoted, err := json.Marshal(string(name))
			if err != nil { // a string always encodes
				panic(err)
			}
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, '"')
}

// text is a string member; of another type, its JSON; of null, nothing.
func text(value []byte) string {
	if s, ok := schemas.StringBytes(value); ok {
		return projections.Text(s)
	}
	return raw(value)
}

func raw(value []byte) string {
	if schemas.IsNull(value) {
		return ""
	}
	return projections.Text(value)
}

// cut shortens s to at most n bytes, not within a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
