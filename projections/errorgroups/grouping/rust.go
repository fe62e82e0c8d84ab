package grouping

import "strings"

// parseRust reads a panic with its backtrace, short or full:
//
//	thread 'main' panicked at src/main.rs:4:5:
//	index out of bounds: the len is 0 but the index is 7
//	stack backtrace:
//	   0: core::panicking::panic_fmt
//	             at /rustc/5980/library/core/src/panicking.rs:80:14
//	   1:     0x55d0 - shop::orders::load::h89e81fe7e742e423
//
// Without a backtrace, the place in the first line is the only frame.
func (t *trace) parseRust(text string) {
	place, headed := "", false
	for l := (lines{rest: text}); l.next(); {
		s := strings.TrimSpace(l.line)
		switch {
		case strings.HasPrefix(s, "thread '") && strings.Contains(s, " panicked at "):
			if len(t.frames) > 0 {
				return
			}
			place, headed = t.headRust(s)
		case headed:
			t.current().message, headed = s, false
		case isRustFrame(s):
			t.addRust(s)
		case strings.HasPrefix(s, "at ") && len(t.frames) > 0:
			last := &t.frames[len(t.frames)-1]
			last.File, last.Line, last.Col = cutPosition(s[3:])
		}
	}
	if len(t.frames) == 0 && place != "" {
		file, line, col := cutPosition(place)
		t.add(Frame{File: file, Line: line, Col: col})
	}
}

// headRust reads the first line of a panic; its message stands on the next line, or in
// quotes on the same one (before Rust 1.73).
func (t *trace) headRust(s string) (place string, messageNext bool) {
	_, rest, _ := strings.Cut(s, " panicked at ")
	t.links = t.links[:0]
	if i := strings.LastIndex(rest, "', "); i > 0 && rest[0] == '\'' {
		t.open("panic", rest[1:i], "")
		return rest[i+3:], false
	}
	t.open("panic", "", "")
	return strings.TrimSuffix(rest, ":"), true
}

// isRustFrame says whether a line is like "12: a::b", with an address before the name in full backtraces.
func isRustFrame(s string) bool {
	number, name, ok := strings.Cut(s, ":")
	if !ok || !allDigits(number) || len(number) > 5 || name == "" || name[0] != ' ' {
		return false
	}
	name = strings.TrimSpace(name)
	return strings.Contains(name, "::") || strings.HasPrefix(name, "0x") || name == "main" || name == "_start" || name == "<unknown>" || strings.HasPrefix(name, "__") || name == "rust_begin_unwind"
}

// addRust adds the frame of such a line.
func (t *trace) addRust(s string) {
	_, name, _ := strings.Cut(s, ":")
	name = strings.TrimSpace(name)
	if strings.HasPrefix(name, "0x") {
		if _, rest, ok := strings.Cut(name, " - "); ok {
			name = rest
		}
	}
	t.add(Frame{Function: name})
}

// rustFunction writes a path without symbol hashes, crate disambiguators, generic arguments and closure numbers.
func rustFunction(dst []byte, s string) []byte {
	if i := strings.LastIndex(s, "::h"); i >= 0 && len(s)-i == 19 && isHex(s[i+3:]) {
		s = s[:i]
	}
	for i := 0; i < len(s); {
		switch {
		case s[i] == '[' && i+17 < len(s) && s[i+17] == ']' && isHex(s[i+1:i+17]):
			i += 18
		case strings.HasPrefix(s[i:], "{{"):
			dst = append(dst, '{')
			i += 2
		case strings.HasPrefix(s[i:], "}}"):
			dst = append(dst, '}')
			i += 2
		case s[i] == '#':
			for i++; i < len(s) && isDigit(s[i]); i++ {
			}
		case strings.HasPrefix(s[i:], "::<") && !strings.HasPrefix(s[i:], "::<impl "):
			i = skipAngles(s, i+2)
		default:
			dst = append(dst, s[i])
			i++
		}
	}
	return dst
}

// skipAngles returns the index after the angle brackets that open at i.
func skipAngles(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '<':
			depth++
		case '>':
			if i > 0 && s[i-1] == '-' {
				continue
			}
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// rustCrate is the crate that a path begins with, also inside <T as Trait>.
func rustCrate(s string) string {
	s = strings.TrimLeft(s, "<&*[(")
	for _, p := range []string{"dyn ", "mut ", "impl "} {
		s = strings.TrimPrefix(s, p)
	}
	if i := strings.IndexAny(s, ":[ <>{"); i >= 0 {
		return s[:i]
	}
	return s
}

// isRustRuntime says whether a crate belongs to the language.
func isRustRuntime(crate string) bool {
	switch crate {
	case "std", "core", "alloc", "__rustc", "test", "backtrace", "anyhow", "eyre", "color_eyre", "tokio", "futures_util", "futures", "hyper", "tower", "axum",
		"actix_web", "actix_rt", "actix_server", "rayon", "rayon_core", "tracing", "serde", "serde_json", "_start", "rust_begin_unwind", "rust_panic", "u8", "usize", "u32", "u64", "i32", "i64", "bool", "str", "F", "T":
		return true
	}
	return strings.HasPrefix(crate, "__") || strings.HasPrefix(crate, "_")
}
