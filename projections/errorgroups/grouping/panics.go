package grouping

import "strings"

// Panics have no type to tell them apart: in Go and Rust the runtime's message begins with what would be
// the type elsewhere.
var (
	goPanics = []string{
		"index out of range", "slice bounds out of range", "invalid memory address or nil pointer dereference", "integer divide by zero",
		"hash of unhashable type", "makeslice: ", "comparing uncomparable type", "growslice: ", "cannot convert slice", "assignment to entry in nil map",
		"interface conversion: ", "send on closed channel", "close of closed channel", "close of nil channel", "all goroutines are asleep",
		"concurrent map ", "negative shift amount", "negative WaitGroup counter",
	}
	rustPanics = []string{
		"index out of bounds", "called `Option::unwrap()`", "called `Option::expect()`", "called `Result::unwrap()`", "called `Result::unwrap_err()`", "attempt to divide by zero",
		"attempt to add with overflow", "attempt to subtract with overflow", "attempt to multiply with overflow", "attempt to negate with overflow", "already borrowed", "already mutably borrowed",
		"assertion failed", "assertion `left == right` failed", "assertion `left != right` failed", "internal error: entered unreachable code",
		"explicit panic", "not yet implemented", "not implemented", "range end index", "range start index", "slice index starts at", "byte index", "capacity overflow", "RefCell already",
	}
)

// panicKind gives the runtime's kind of a panic, "" for panics that programs make themselves.
func panicKind(lang language, message string) string {
	kinds := rustPanics
	switch lang {
	case golang:
		kinds = goPanics
		message = strings.TrimPrefix(message, "runtime error: ")
	case rust:
	default:
		return ""
	}
	for _, kind := range kinds {
		if strings.HasPrefix(message, kind) {
			return kind
		}
	}
	return ""
}
