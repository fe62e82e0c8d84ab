package schemas

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Words of eight equal bytes, for looking at eight bytes of a string at once.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the bytes of x that end a run of plain ASCII in a JSON string:
// control characters, the quote, the backslash and everything above 0x7f. The
// lowest mark is exact; a higher one may be an artefact of borrowing.
func special(x uint64) uint64 {
	quote := x ^ '"'*ones
	slash := x ^ '\\'*ones
	return ((x - ' '*ones) &^ x & highs) |
		((quote - ones) &^ quote & highs) |
		((slash - ones) &^ slash & highs) |
		(x & highs)
}

// text scans the string whose opening quote is at i, and says whether it holds
// escapes.
func (s *scanner) text(i int) (end int, escaped bool) {
	b := s.body
	i++
	for {
		i = plainEnd(b, i)
		if uint(i) >= uint(len(b)) {
			return s.fail(i, faultEnd), escaped
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			escaped = true
			i = s.escape(i)
		case c < ' ':
			return s.fail(i, faultControl), escaped
		default:
			i = s.runes(i)
		}
		if i == failed {
			return failed, escaped
		}
	}
}

// plainEnd returns the position of the first byte from i on that is special in
// a string, or len(b).
func plainEnd(b []byte, i int) int {
	for i+8 <= len(b) {
		if m := special(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(b) && b[i] >= ' ' && b[i] < utf8.RuneSelf && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// runes scans a run of characters outside ASCII.
func (s *scanner) runes(i int) int {
	for i < len(s.body) && s.body[i] >= utf8.RuneSelf {
		_, size := utf8.DecodeRune(s.body[i:])
		if size == 1 {
			return s.fail(i, faultUTF8)
		}
		i += size
	}
	return i
}

// escape scans the escape at i. An unpaired surrogate is well-formed JSON but
// no text: in an event it is a flaw.
func (s *scanner) escape(i int) int {
	switch s.at(i + 1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
	default:
		return s.fail(i+1, faultEscape)
	}
	r, bad := hex4(s.body, i+2)
	if bad >= 0 {
		return s.fail(bad, faultEscape)
	}
	if !isSurrogate(r) {
		return i + 6
	}
	if r < lowSurrogate && s.at(i+6) == '\\' && s.at(i+7) == 'u' {
		// Whatever follows is scanned again as an escape of its own if it is
		// not the other half.
		if low, bad := hex4(s.body, i+8); bad < 0 && low >= lowSurrogate && isSurrogate(low) {
			return i + 12
		}
	}
	s.flaw(s.part, i, flawSurrogate)
	return i + 6
}

const (
	highSurrogate = 0xd800
	lowSurrogate  = 0xdc00
)

func isSurrogate(r rune) bool { return r&^0x7ff == highSurrogate }

// hex4 reads four hex digits at i. bad is the position of the first byte that
// is none, or -1.
func hex4(b []byte, i int) (r rune, bad int) {
	for end := i + 4; i < end; i++ {
		if i >= len(b) {
			return 0, len(b)
		}
		c := b[i]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, i
		}
		r = r<<4 | rune(c)
	}
	return r, -1
}

// appendDecoded appends the text of a scanned string's content, without its
// quotes. A surrogate without its other half becomes U+FFFD.
func appendDecoded(dst, content []byte) []byte {
	for i := 0; i < len(content); {
		c := content[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		if i+1 >= len(content) {
			return dst
		}
		if content[i+1] != 'u' {
			dst = append(dst, unescape(content[i+1]))
			i += 2
			continue
		}
		r, size := decodeUnit(content, i)
		dst = utf8.AppendRune(dst, r)
		i += size
	}
	return dst
}

// decodeUnit decodes the \u escape at i, both halves of a pair, and returns
// its length.
func decodeUnit(content []byte, i int) (rune, int) {
	r, bad := hex4(content, i+2)
	if bad >= 0 {
		return utf8.RuneError, len(content) - i
	}
	if !isSurrogate(r) {
		return r, 6
	}
	if r < lowSurrogate && i+12 <= len(content) && content[i+6] == '\\' && content[i+7] == 'u' {
		if low, bad := hex4(content, i+8); bad < 0 && low >= lowSurrogate && isSurrogate(low) {
			return (r-highSurrogate)<<10 + (low - lowSurrogate) + 0x10000, 12
		}
	}
	return utf8.RuneError, 6
}

// unescape returns the byte that a one-letter escape stands for.
func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default:
		return c // the quote, the backslash and the slash
	}
}
