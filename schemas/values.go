package schemas

import (
	"bytes"
	"strconv"
)

// The functions of this file read raw JSON values, such as Members hands out.
// They are safe on any bytes and keep no reference to value unless they say so;
// ok is false when the value is of another kind. Numbers are verified, while the
// inside of a string is trusted to be what the walk has verified.

// IsNull reports whether value is null or not there at all.
func IsNull(value []byte) bool { return len(value) == 0 || string(value) == "null" }

// String decodes a JSON string. It allocates the string and nothing else.
func String(value []byte) (text string, ok bool) {
	b, ok := StringBytes(value)
	return string(b), ok
}

// StringBytes is String without a copy: the result aliases value unless
// something in it is escaped, which allocates. An unpaired surrogate becomes
// U+FFFD.
func StringBytes(value []byte) (text []byte, ok bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return nil, false
	}
	content := value[1 : len(value)-1]
	if bytes.IndexByte(content, '\\') < 0 {
		return content, true
	}
	return appendDecoded(make([]byte, 0, len(content)), content), true
}

// AppendString appends the text of a JSON string.
func AppendString(dst, value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return dst, false
	}
	return appendDecoded(dst, value[1:len(value)-1]), true
}

// Int reads a JSON number whose value is whole (200, 200.0, 2e2) and fits an
// int64.
func Int(value []byte) (n int64, ok bool) {
	if len(value) == 0 {
		return 0, false
	}
	n, integer, inRange := readWhole(value)
	return n, integer && inRange
}

// Float reads a JSON number, rounded to the nearest float64. Numbers too large
// for it are not ok; never use it for money.
func Float(value []byte) (f float64, ok bool) {
	if end, ok := numberEnd(value, 0); !ok || end != len(value) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(value), 64)
	return f, err == nil
}

// Bool reads true or false.
func Bool(value []byte) (v, ok bool) {
	switch string(value) {
	case "true":
		return true, true
	case "false":
		return false, true
	default:
		return false, false
	}
}

// CurrencyCode reads a JSON string of three ASCII letters and returns them in
// upper case.
func CurrencyCode(value []byte) (code string, ok bool) {
	upper, ok := currencyLetters(value)
	if !ok {
		return "", false
	}
	return string(upper[:]), true
}

func currencyLetters(value []byte) (upper [3]byte, ok bool) {
	text, ok := StringBytes(value)
	if !ok || len(text) != len(upper) {
		return upper, false
	}
	for i, c := range text {
		if upper[i] = c &^ 0x20; upper[i] < 'A' || upper[i] > 'Z' {
			return upper, false
		}
	}
	return upper, true
}
