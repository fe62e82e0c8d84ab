package grouping

import (
	"strings"
	"unicode/utf8"
)

// Normalize gives message with everything taken out that changes from one occurrence to the next.
// It goes over the message once; what looks like a value but is a name (utf-8, HTTP/1.1, x86_64,
// python3.11) stays. At most maxMessageBytes are read and maxNormalBytes written.
func Normalize(message string) string {
	var n normaliser
	return string(n.run(nil, message))
}

// normaliser holds one pass over one message.
type normaliser struct {
	in  string
	pos int
	out []byte
	// changes collects what was replaced, when somebody wants to know.
	changes *[]Change
	// steps counts the bytes looked at: the measure that tests bound.
	steps int
	// unclosed says, per kind of quote, up to where it is known that none closes.
	unclosed [3]int
}

// run appends the normalised message to dst.
func (n *normaliser) run(dst []byte, message string) []byte {
	n.in = strings.TrimSpace(clip(message, maxMessageBytes))
	n.pos, n.steps, n.unclosed = 0, 0, [3]int{}
	start := len(dst)
	n.out = dst
	for n.pos < len(n.in) && len(n.out)-start < maxNormalBytes {
		n.step()
	}
	if len(n.out)-start > maxNormalBytes {
		n.out = n.out[:start+len(clip(string(n.out[start:]), maxNormalBytes))]
	}
	return n.out
}

// clip gives at most limit bytes of s, whole runes.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// step handles what stands at pos: one value, one word, or one sign.
func (n *normaliser) step() {
	c := n.in[n.pos]
	n.steps++
	if n.atBoundary() {
		if done := n.value(c); done {
			return
		}
	}
	switch {
	case c == ' ' || c == '\n' || c == '\t' || c == '\r':
		n.space()
	case isAlnum(c):
		n.word()
	case c < 0x20:
		n.pos++
	default:
		n.out = append(n.out, c)
		n.pos++
	}
}

// atBoundary says whether a value may begin at pos: not in the middle of a word.
func (n *normaliser) atBoundary() bool {
	return n.pos == 0 || !isAlnum(n.in[n.pos-1]) || n.in[n.pos] == '@'
}

// before gives the byte before pos, 0 at the start.
func (n *normaliser) before() byte {
	if n.pos == 0 {
		return 0
	}
	return n.in[n.pos-1]
}

// space writes a run of blanks as one.
func (n *normaliser) space() {
	for n.pos < len(n.in) && (n.in[n.pos] == ' ' || n.in[n.pos] == '\n' || n.in[n.pos] == '\t' || n.in[n.pos] == '\r') {
		n.pos++
		n.steps++
	}
	n.out = append(n.out, ' ')
}

// value tries the values that can begin with c, the most particular first.
func (n *normaliser) value(c byte) bool {
	s := n.in[n.pos:min(len(n.in), n.pos+maxTokenBytes)]
	switch {
	case c == '\'' || c == '"' || c == '`' || c >= 0x80:
		return n.quoted()
	case isDigit(c):
		return n.digitValue(s)
	case c == '-' || c == '+':
		return len(s) > 1 && isDigit(s[1]) && n.before() != c && n.take("number", "<n>", n.seen(numberLength(s)))
	case isLetter(c):
		return n.letterValue(s)
	case c == '/' || c == '~' || c == '.' || c == '\\':
		return n.take("path", "<path>", n.seen(pathLength(s, n.before())))
	case c == '[':
		return n.take("ip", "<ip>", n.seen(bracketedLength(s)))
	case c == ':':
		return n.take("ip", "<ip>", n.seen(ipv6Length(s)))
	case c == '@':
		return n.identityHash(s)
	}
	return false
}

// seen counts the work of a look-ahead that ended at length.
func (n *normaliser) seen(length int) int {
	n.steps += max(length, 16)
	return length
}

// digitValue tries the values that begin with a digit.
func (n *normaliser) digitValue(s string) bool {
	if l := keptDigitWord(s); l > 0 || n.isCode() {
		l = max(l, wordLength(s))
		n.keep(l)
		return true
	}
	return n.take("date", "<date>", n.seen(dateLength(s))) ||
		n.take("uuid", "<uuid>", n.seen(uuidLength(s))) ||
		n.take("ip", "<ip>", n.seen(ipv4Length(s))) ||
		n.take("ip", "<ip>", n.seen(ipv6Length(s))) ||
		n.take("mac", "<mac>", n.seen(macLength(s))) ||
		n.take("email", "<email>", n.seen(emailLength(s))) ||
		n.take("hex", "<hex>", n.seen(hexLength(s))) ||
		n.take("duration", "<duration>", n.seen(durationLength(s))) ||
		n.take("size", "<size>", n.seen(sizeLength(s))) ||
		numberLength(s) < wordLength(s) && n.take("id", "<id>", n.seen(idLength(s))) ||
		n.take("number", "<n>", n.seen(numberLength(s)))
}

// isCode says whether what comes is part of a name though it begins with a digit: C++17, SQLSTATE[42S02].
func (n *normaliser) isCode() bool {
	s := n.in[:n.pos]
	return strings.HasSuffix(s, "C++") || strings.HasSuffix(s, "SQLSTATE[")
}

// letterValue tries the values that begin with a letter. Only words with a sign in them can be most of
// these, so plain words pass quickly.
func (n *normaliser) letterValue(s string) bool {
	word := wordLength(s)
	n.steps += word
	if strings.HasPrefix(s[word:], "://") {
		return n.take("url", "<url>", n.seen(urlLength(n.in[n.pos:])))
	}
	if l := keptWord(s); l > 0 {
		n.keep(l)
		return true
	}
	if plain := word >= len(s) || strings.IndexByte(".@:/\\-=+_~", s[word]) < 0; plain {
		return word >= 3 && (n.take("date", "<date>", n.seen(monthDateLength(s))) || n.identifier(s, word))
	}
	return n.take("url", "<url>", n.seen(urlLength(n.in[n.pos:]))) ||
		n.take("email", "<email>", n.seen(emailLength(s))) ||
		n.take("uuid", "<uuid>", n.seen(uuidLength(s))) ||
		n.take("path", "<path>", n.seen(windowsPathLength(s))) ||
		n.take("ip", "<ip>", n.seen(ipv6Length(s))) ||
		n.take("mac", "<mac>", n.seen(macLength(s))) ||
		n.take("id", "<id>", n.seen(tokenLength(n.in[n.pos:]))) ||
		n.take("host", "<host>", n.seen(hostLength(s))) ||
		n.take("path", "<path>", n.seen(relativePathLength(s))) ||
		n.take("date", "<date>", n.seen(monthDateLength(s))) ||
		n.identifier(s, word)
}

// identifier tries the ids that are one run of letters and digits.
func (n *normaliser) identifier(s string, word int) bool {
	if !hasDigit(s[:word]) && word < 16 {
		return false
	}
	return n.take("duration", "<duration>", isoDurationLength(s)) ||
		n.take("hex", "<hex>", n.seen(hexLength(s))) || n.take("id", "<id>", n.seen(idLength(s)))
}

// take replaces the next length bytes with as; nothing happens for length 0.
func (n *normaliser) take(rule, as string, length int) bool {
	if length <= 0 {
		return false
	}
	if rule == "hex" || rule == "id" {
		length += podSuffix(n.in[n.pos+length:])
	}
	from := n.in[n.pos : n.pos+length]
	n.pos += length
	if n.changes != nil && len(*n.changes) < maxChanges {
		*n.changes = append(*n.changes, Change{From: clip(from, 120), To: as, Rule: rule})
	}
	if n.afterKey() {
		as = "<value>"
	}
	n.out = appendOnce(n.out, as)
	return true
}

// afterKey says whether what comes is the value of a JSON key: any value is one to the group,
// be it a number, a text or a word.
func (n *normaliser) afterKey() bool {
	i := len(n.out)
	if i > 0 && n.out[i-1] == ' ' {
		i--
	}
	return i >= 2 && n.out[i-1] == ':' && (n.out[i-2] == '"' || n.out[i-2] == '\'')
}

// isJSONWord says whether s is one of the words that JSON and Python have for values.
func isJSONWord(s string) bool {
	switch s {
	case "true", "false", "null", "True", "False", "None":
		return true
	}
	return false
}

// maxChanges is how many replacements an explanation lists.
const maxChanges = 64

// appendOnce writes a placeholder, but a list of the same ones only once: the number of
// values is no more of the error than the values are.
func appendOnce(out []byte, as string) []byte {
	for _, comma := range []string{", ", ","} {
		if n := len(out) - len(comma); n >= len(as) && string(out[n:]) == comma && string(out[n-len(as):n]) == as {
			return out[:n]
		}
	}
	return append(out, as...)
}

// keep writes the next length bytes as they are.
func (n *normaliser) keep(length int) {
	n.out = append(n.out, n.in[n.pos:n.pos+length]...)
	n.pos += length
	n.steps += length
}

// word writes a run of letters and digits that is no value, but without a number of three digits or
// more, or after a noun that is counted: order1234, worker3.
func (n *normaliser) word() {
	s := n.in[n.pos:min(len(n.in), n.pos+maxTokenBytes)]
	s = s[:wordLength(s)]
	n.steps += len(s)
	if !hasDigit(s) {
		if !isJSONWord(s) || !n.afterKey() || !n.take("json", "<value>", len(s)) {
			n.keep(len(s))
		}
		return
	}
	letters := 0
	for letters < len(s) && isLetter(s[letters]) {
		letters++
	}
	n.keep(letters)
	digits := letters
	for digits < len(s) && isDigit(s[digits]) {
		digits++
	}
	inName := digits < len(s) && isUpper(s[digits])
	counted := digits-letters >= 3 && !inName || letters > 0 && isCountedNoun(s[:letters])
	if counted && n.take("number", "<n>", digits-letters) {
		return
	}
	n.keep(digits - letters)
}

// identityHash replaces the hash in what Java prints for an object: com.acme.Cart@6d06d69c.
func (n *normaliser) identityHash(s string) bool {
	end := wordLength(s[1:])
	if n.pos == 0 || end < 5 || end > 16 || !isHex(s[1:1+end]) {
		return false
	}
	n.keep(1)
	return n.take("hex", "<hex>", end)
}
