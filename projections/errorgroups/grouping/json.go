package grouping

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The functions here walk JSON that was valid at the door. On anything else they stop
// early and give what they have: grouping never fails because of a payload's form.

// members calls fn for each member of the object obj until fn returns false. key is
// decoded, value is JSON text. It reports whether obj was an object to its end.
func members(obj string, fn func(key, value string) bool) bool {
	i := skipSpace(obj, 0)
	if i >= len(obj) || obj[i] != '{' {
		return false
	}
	i = skipSpace(obj, i+1)
	if i < len(obj) && obj[i] == '}' {
		return true
	}
	for i < len(obj) && obj[i] == '"' {
		end := skipString(obj, i)
		key := unquote(obj[i:end])
		i = skipSpace(obj, end)
		if i >= len(obj) || obj[i] != ':' {
			return false
		}
		i = skipSpace(obj, i+1)
		end = skipValue(obj, i)
		if end == i {
			return false
		}
		if !fn(key, obj[i:end]) {
			return true
		}
		i = skipSpace(obj, end)
		if i >= len(obj) || obj[i] != ',' {
			return i < len(obj) && obj[i] == '}'
		}
		i = skipSpace(obj, i+1)
	}
	return false
}

// elements calls fn for each element of the array arr, as JSON text, until fn returns false.
func elements(arr string, fn func(value string) bool) {
	i := skipSpace(arr, 0)
	if i >= len(arr) || arr[i] != '[' {
		return
	}
	i = skipSpace(arr, i+1)
	for i < len(arr) && arr[i] != ']' {
		end := skipValue(arr, i)
		if end == i || !fn(arr[i:end]) {
			return
		}
		i = skipSpace(arr, end)
		if i >= len(arr) || arr[i] != ',' {
			return
		}
		i = skipSpace(arr, i+1)
	}
}

// skipSpace returns the index of the first byte from i on that is no JSON whitespace.
func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at i with a quote.
func skipString(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// skipValue returns the index after the value that begins at i, or i when there is none.
// It counts brackets instead of recursing, so that depth costs no stack.
func skipValue(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '"':
			i = skipString(s, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
			i++
		case ':':
			if depth == 0 {
				return i
			}
			i++
		default:
			i = skipBare(s, i)
		}
		if depth == 0 {
			return i
		}
	}
	return len(s)
}

// skipBare returns the index after the number or word at i.
func skipBare(s string, i int) int {
	for i < len(s) && strings.IndexByte(`,:{}[]" `+"\n\t\r", s[i]) < 0 {
		i++
	}
	return i
}

// text gives a value as text: a string decoded, null as "", anything else as its JSON.
func text(value string) string {
	if value == "null" {
		return ""
	}
	return unquote(value)
}

// unquote decodes a JSON string; other values come back as they are. Invalid UTF-8 and
// halves of surrogate pairs become U+FFFD.
func unquote(value string) string {
	if len(value) == 0 || value[0] != '"' {
		return strings.ToValidUTF8(value, "\uFFFD")
	}
	value = value[1:]
	value = strings.TrimSuffix(value, `"`)
	if strings.IndexByte(value, '\\') < 0 {
		return strings.ToValidUTF8(value, "\uFFFD")
	}
	return strings.ToValidUTF8(unescape(value), "\uFFFD")
}

// unescape decodes the backslash escapes of a JSON string's inside.
func unescape(s string) string {
	out := make([]byte, 0, len(s))
	for len(s) > 0 {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 >= len(s) {
			break
		}
		out = append(out, s[:i]...)
		c := s[i+1]
		s = s[i+2:]
		if c == 'u' {
			r, n := unicodeEscape(s)
			out = utf8.AppendRune(out, r)
			s = s[n:]
			continue
		}
		out = append(out, plainEscape(c))
	}
	return string(append(out, s...))
}

// plainEscape gives the byte that a one-letter escape stands for.
func plainEscape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c
}

// unicodeEscape reads what follows "\u": the rune and the bytes taken from s.
func unicodeEscape(s string) (rune, int) {
	hi, ok := hex4(s)
	if !ok {
		return utf8.RuneError, 0
	}
	if !utf16.IsSurrogate(hi) {
		return hi, 4
	}
	if len(s) >= 10 && s[4] == '\\' && s[5] == 'u' {
		if lo, ok := hex4(s[6:]); ok {
			if r := utf16.DecodeRune(hi, lo); r != utf8.RuneError {
				return r, 10
			}
		}
	}
	return utf8.RuneError, 4
}

// hex4 reads four hexadecimal digits.
func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var r rune
	for i := range 4 {
		d, ok := hexDigit(s[i])
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

// hexDigit gives the value of a hexadecimal digit.
func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
