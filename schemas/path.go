package schemas

import (
	"strconv"
	"strings"
)

// maxPath bounds a field path in a reason, in bytes; maxPathName one name in it.
const (
	maxPath     = 256
	maxPathName = 64
)

// step is one container on the way to a fault.
type step struct {
	array bool
	index int
	name  []byte // with its quotes
	named bool   // name is set, the next string is a value
}

// pathTo names the place at an offset of an event, such as
// "data.metadata.tags[2].key". It walks the event once more, which only refused
// events pay for; the event is well-formed.
func pathTo(event []byte, offset int) string {
	var steps [MaxDepth + 1]step
	depth := 0
	for i := 0; i <= offset && i < len(event); {
		top := &steps[depth]
		switch event[i] {
		case '{', '[':
			depth++
			steps[depth] = step{array: event[i] == '['}
		case '}', ']':
			depth--
		case ',':
			top.index++
			top.named = false
		case '"':
			end := stringEnd(event, i)
			if !top.array && !top.named {
				top.name, top.named = event[i:end], true
			}
			i = end
			continue
		}
		i++
	}
	return joinSteps(steps[1 : depth+1])
}

// stringEnd returns the position after the string that opens at i.
func stringEnd(b []byte, i int) int {
	for i = plainOrRunes(b, i+1); i < len(b); i = plainOrRunes(b, i) {
		if b[i] == '"' {
			return i + 1
		}
		i += 2 // an escape
	}
	return len(b)
}

// plainOrRunes returns the position of the next quote or backslash.
func plainOrRunes(b []byte, i int) int {
	for i < len(b) {
		if i = plainEnd(b, i); i >= len(b) || b[i] == '"' || b[i] == '\\' {
			return i
		}
		i++
	}
	return len(b)
}

func joinSteps(steps []step) string {
	var path strings.Builder
	for _, s := range steps {
		switch {
		case path.Len() > maxPath:
			return path.String() + "…"
		case s.array:
			path.WriteString("[" + strconv.Itoa(s.index) + "]")
		default:
			if path.Len() > 0 {
				path.WriteByte('.')
			}
			path.WriteString(pathName(s.name))
		}
	}
	return path.String()
}

// pathName writes a name plainly if it cannot be mistaken for more than a
// name, else in quotes.
func pathName(quoted []byte) string {
	text, _ := StringBytes(quoted)
	name := clip(text, maxPathName)
	for _, c := range name {
		if c <= ' ' || c == 0x7f || c == '.' || c == ':' || c == '[' || c == ']' || c == '"' {
			return strconv.Quote(name)
		}
	}
	if name == "" {
		return `""`
	}
	return name
}
