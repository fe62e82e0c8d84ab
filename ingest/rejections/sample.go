package rejections

import (
	"strings"
	"unicode/utf8"
)

const (
	// mostValue is how many bytes of a name or value a sample shows.
	mostValue = 200
	// mostSample bounds the whole sample.
	mostSample = 2 << 10
	// mostReason bounds a reason; schemas cuts long names in it already.
	mostReason = 400
	ellipsis   = "…"
)

// sampleOf is an event's bytes with every long string and number cut. raw is
// well-formed JSON.
func sampleOf(raw []byte) string {
	var b strings.Builder
	for i := 0; i < len(raw) && b.Len() < mostSample; {
		end := tokenEnd(raw, i)
		token := raw[i:end]
		i = end
		if len(token) <= mostValue+2 {
			b.Write(token)
			continue
		}
		b.WriteString(cut(string(token[:mostValue+2]), mostValue+1)) // with its quote
		b.WriteString(ellipsis)
		if token[0] == '"' {
			b.WriteByte('"')
		}
	}
	return cut(b.String(), mostSample)
}

// tokenEnd is the end of the string, the number or word, or the single byte at i.
func tokenEnd(raw []byte, i int) int {
	if raw[i] == '"' {
		for i++; i < len(raw); i++ {
			switch raw[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(raw)
	}
	end := i
	for end < len(raw) && !strings.ContainsRune("\" \t\r\n{}[]:,", rune(raw[end])) {
		end++
	}
	return max(end, i+1)
}

// cut shortens s to at most n bytes, not within a character or an escape.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	s = s[:n]
	// An escape is up to six bytes, and begins with an odd number of backslashes.
	if at := strings.LastIndexByte(s, '\\'); at >= 0 && at > len(s)-6 && backslashes(s[:at+1])%2 == 1 {
		if whole := s[at:]; len(whole) < 2 || (whole[1] == 'u' && len(whole) < 6) {
			s = s[:at]
		}
	}
	return s
}

func backslashes(s string) (n int) {
	for n < len(s) && s[len(s)-1-n] == '\\' {
		n++
	}
	return n
}
