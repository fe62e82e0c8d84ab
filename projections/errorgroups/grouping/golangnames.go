package grouping

import "strings"

// goAfterPanic returns the index after the last panic call of frames: the calls
// above it are the deferred function that recovered and printed the stack.
func goAfterPanic(frames []Frame) int {
	for i := len(frames) - 1; i >= 0; i-- {
		switch frames[i].Function {
		case "panic", "runtime.gopanic", "runtime.sigpanic":
			return i + 1
		}
	}
	return 0
}

// goFunction writes a Go function without closure numbers. The compiler names an inlined closure after
// the function it was inlined into, so a method in the middle of a name begins the real name:
// main.main.func1.(*S).handle.1 and main.(*S).handle.func1 are both main.(*S).handle.func.
func goFunction(dst []byte, s string) []byte {
	if i := strings.Index(s, "/vendor/"); i >= 0 {
		s = s[i+len("/vendor/"):]
	}
	slash := strings.LastIndexByte(s[:min(len(s), len(s)-len(goTail(s)))], '/') + 1
	dot := strings.IndexByte(s[slash:], '.')
	if dot < 0 {
		return append(dst, s...)
	}
	dst = append(dst, s[:slash+dot]...)
	rest := s[slash+dot+1:]
	if i := strings.LastIndex(rest, ".("); i >= 0 {
		rest = rest[i+1:]
	}
	closure := false
	for len(rest) > 0 {
		var segment string
		segment, rest = cutGoSegment(strings.TrimLeft(rest, "."))
		if isGoGenerated(segment) {
			closure = closure || segment != "0"
			continue
		}
		dst = append(dst, '.')
		dst = append(dst, goSegment(segment)...)
	}
	if closure {
		dst = append(dst, ".func"...)
	}
	return dst
}

// goTail is the part of a function name from its first bracket on, where slashes belong to type arguments.
func goTail(s string) string {
	if i := strings.IndexAny(s, "[("); i >= 0 {
		return s[i:]
	}
	return ""
}

// cutGoSegment takes the first dotted segment off s; dots in brackets don't count.
func cutGoSegment(s string) (segment, rest string) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '.':
			if depth <= 0 && i > 0 {
				return s[:i], s[i+1:]
			}
		}
	}
	return s, ""
}

// goSegment cuts type arguments and compiler suffixes off a segment.
func goSegment(s string) string {
	if i := strings.IndexByte(s, '['); i > 0 {
		s = strings.TrimSuffix(s[:i], ".") + closing(s)
	}
	s = strings.TrimSuffix(s, "-fm")
	if i := strings.Index(s, "-range"); i > 0 {
		s = s[:i]
	}
	return s
}

// closing keeps the bracket of a generic receiver: (*List[...]) becomes (*List).
func closing(s string) string {
	if strings.HasSuffix(s, ")") {
		return ")"
	}
	return ""
}

// isGoGenerated says whether a segment is a number or a name that the compiler made.
func isGoGenerated(s string) bool {
	for _, p := range []string{"func", "gowrap", "deferwrap", "glob", "init"} {
		if rest, ok := strings.CutPrefix(s, p); ok && rest != "" {
			s = rest
			break
		}
	}
	if i := strings.Index(s, "-range"); i > 0 {
		s = s[:i]
	}
	return allDigits(s) || s == "" || s == "."
}
