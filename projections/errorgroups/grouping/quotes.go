package grouping

import "strings"

// quoted replaces a quoted value. Quotes inside words are apostrophes; a key of a JSON object and a
// name that stays stay in their quotes.
func (n *normaliser) quoted() bool {
	s := n.in[n.pos:]
	closing, kind, width := closingQuote(s)
	if width == 0 {
		return false
	}
	end := n.findClosing(closing, kind, width)
	if end < 0 {
		return false
	}
	inner, length := s[width:end-n.pos], end-n.pos+len(closing)
	if n.isKey(s[length:min(len(s), length+4)]) || len(inner) < 32 && keptWord(inner) == len(inner) && inner != "" {
		n.keep(length)
		return true
	}
	return n.take("quoted", "<quoted>", length)
}

// closingQuote gives what closes the quote that s begins with; width is 0 when it is none.
func closingQuote(s string) (closing string, kind, width int) {
	switch {
	case s[0] == '\'':
		return "'", 0, 1
	case s[0] == '"':
		return `"`, 1, 1
	case s[0] == '`':
		return "`", 2, 1
	case strings.HasPrefix(s, "“"):
		return "”", -1, len("“")
	case strings.HasPrefix(s, "‘"):
		return "’", -1, len("‘")
	case strings.HasPrefix(s, "«"):
		return "»", -1, len("«")
	case strings.HasPrefix(s, "„"):
		return "“", -1, len("„")
	}
	return "", -1, 0
}

// findClosing gives the index of the closing quote, or -1. It must not stand before a letter.
func (n *normaliser) findClosing(closing string, kind, width int) int {
	limit := min(len(n.in), n.pos+maxQuotedBytes)
	i := n.pos + width
	if kind >= 0 && n.pos < n.unclosed[kind] {
		i = max(i, n.unclosed[kind])
	}
	for ; i < limit; i++ {
		n.steps++
		if n.in[i] == '\\' {
			i++
			continue
		}
		if kind == 2 && n.in[i] == '\'' && !n.letterAt(i+1) {
			return i // Ruby's `name'
		}
		if strings.HasPrefix(n.in[i:], closing) && !n.letterAt(i+len(closing)) {
			return i
		}
	}
	if kind >= 0 {
		n.unclosed[kind] = max(n.unclosed[kind], min(i, limit))
	}
	return -1
}

// letterAt says whether a letter or digit stands at i.
func (n *normaliser) letterAt(i int) bool { return i < len(n.in) && isAlnum(n.in[i]) }

// isKey says whether a quoted text is a key of a JSON object or a Python dict: after { or a comma, before a colon.
func (n *normaliser) isKey(after string) bool {
	if !strings.HasPrefix(strings.TrimLeft(after, " "), ":") {
		return false
	}
	for i := len(n.out) - 1; i >= 0; i-- {
		if n.out[i] != ' ' {
			return n.out[i] == '{' || n.out[i] == ','
		}
	}
	return false
}
