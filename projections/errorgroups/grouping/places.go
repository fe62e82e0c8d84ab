package grouping

import "strings"

// urlLength reads scheme://…; it ends at a blank, quote or angle bracket, without the
// sentence's own punctuation.
func urlLength(s string) int {
	i := 0
	for i < len(s) && i < 24 && (isAlnum(s[i]) || strings.IndexByte("+-.", s[i]) >= 0) {
		i++
	}
	if !strings.HasPrefix(s[i:], "://") {
		return 0
	}
	for i < len(s) && s[i] > ' ' && strings.IndexByte("\"'<>`\\|{}", s[i]) < 0 {
		i++
	}
	return trimPunctuation(s, i)
}

// trimPunctuation moves the end of a value before signs that belong to the sentence.
func trimPunctuation(s string, end int) int {
	for end > 0 && strings.IndexByte(".,;:!?)]}", s[end-1]) >= 0 {
		end--
	}
	return end
}

// emailLength reads local@domain.tld.
func emailLength(s string) int {
	i := 0
	for i < len(s) && (isAlnum(s[i]) || strings.IndexByte("._%+-", s[i]) >= 0) {
		i++
	}
	if i == 0 || i >= len(s) || s[i] != '@' {
		return 0
	}
	n := labelsLength(s[i+1:])
	domain := s[i+1 : i+1+n]
	dot := strings.LastIndexByte(domain, '.')
	if dot <= 0 || len(domain)-dot < 3 || hasDigit(domain[dot:]) {
		return 0
	}
	return i + 1 + n
}

// labelsLength is the length of letters, digits, dots and dashes that s begins with, not ending in a sign.
func labelsLength(s string) int {
	i := 0
	for i < len(s) && (isAlnum(s[i]) || s[i] == '.' || s[i] == '-') {
		i++
	}
	for i > 0 && !isAlnum(s[i-1]) {
		i--
	}
	return i
}

// hostLength reads a host's name with its port and path: the last label must be one that hosts end in,
// so that java.lang.String and node.js are none.
func hostLength(s string) int {
	n := labelsLength(s)
	name := s[:n]
	if name == "localhost" {
		return n + portLength(s[n:])
	}
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || n < len(s) && (s[n] == '(' || s[n] == '_' || s[n] == ':' && n+1 < len(s) && s[n+1] == ':') || name != strings.ToLower(name) {
		return 0
	}
	last := name[dot+1:]
	switch {
	case commonDomains[last]:
	case strings.Count(name, ".") >= 2 && rarerDomains[last]:
	case strings.Count(name, ".") >= 1 && rarerDomains[last] && portLength(s[n:]) > 0:
	default:
		return 0
	}
	n += portLength(s[n:])
	for n < len(s) && s[n-1] != ' ' && (isAlnum(s[n]) || strings.IndexByte("/?&=%#-_~+.", s[n]) >= 0) && (s[n] == '/' || strings.IndexByte(s[:n], '/') >= 0) {
		n++
	}
	return trimPunctuation(s, n)
}

var commonDomains = wordSet(`com net org edu gov local internal localdomain lan`)
var rarerDomains = wordSet(`io dev app ai co uk de fr eu us info biz cloud ch at nl be es it pl se no fi dk cz jp cn in br au ca ru tech xyz me tv svc cluster test example host site online store shop corp intra`)

// portLength reads :8080.
func portLength(s string) int {
	if len(s) < 2 || s[0] != ':' {
		return 0
	}
	if n := digitsLength(s[1:]); n > 0 && n <= 5 {
		return 1 + n
	}
	return 0
}

// ipv4Length reads 10.0.0.1 with a mask or port.
func ipv4Length(s string) int {
	i := 0
	for part := range 4 {
		n := digitsLength(s[i:])
		if n == 0 || n > 3 || atoi(s[i:]) > 255 {
			return 0
		}
		i += n
		if part < 3 {
			if i >= len(s) || s[i] != '.' {
				return 0
			}
			i++
		}
	}
	if !ends(s[i:]) || i+1 < len(s) && s[i] == '.' && isDigit(s[i+1]) {
		return 0
	}
	if i+1 < len(s) && s[i] == '/' && isDigit(s[i+1]) {
		return i + 1 + digitsLength(s[i+1:])
	}
	return i + portLength(s[i:])
}

// ipv6Length reads groups of hexadecimal digits between colons: seven colons, or a double one. There must be a
// decimal digit, and neither a name nor a call may follow, so that Fee::add() is none.
func ipv6Length(s string) int {
	i, colons, double := 0, 0, false
	for i < len(s) && i < 45 {
		n := 0
		for i+n < len(s) && n < 5 && isHex(s[i+n:i+n+1]) {
			n++
		}
		if n > 4 {
			return 0
		}
		i += n
		if i >= len(s) || s[i] != ':' {
			break
		}
		if n == 0 && i > 0 && i >= 1 && s[i-1] == ':' {
			double = true
		}
		colons++
		i++
	}
	for i > 0 && s[i-1] == ':' && !(i > 1 && s[i-2] == ':') {
		i--
		colons--
	}
	if colons < 2 || colons > 7 || !double && colons != 7 || !hasDigit(s[:i]) {
		return 0
	}
	if first, rest, _ := strings.Cut(s[:i], ":"); first != "" && !hasDigit(first) && strings.Count(rest, ":") < 2 {
		return 0
	}
	if i < len(s) && s[i] == '%' {
		i += 1 + wordLength(s[i+1:])
	}
	if i < len(s) && (s[i] == '(' || s[i] == '<' || s[i] == '$') || !ends(s[i:]) {
		return 0
	}
	return i
}

// bracketedLength reads an IPv6 address in brackets with its port.
func bracketedLength(s string) int {
	n := ipv6Length(s[1:])
	if n == 0 || n+1 >= len(s) || s[n+1] != ']' {
		return 0
	}
	return n + 2 + portLength(s[n+2:])
}

// macLength reads six pairs of hexadecimal digits between colons or dashes.
func macLength(s string) int {
	if len(s) < 17 {
		return 0
	}
	for i := range 17 {
		sep := i%3 == 2
		if sep != (s[i] == ':' || s[i] == '-') || !sep && !isHex(s[i:i+1]) {
			return 0
		}
	}
	if !ends(s[17:]) {
		return 0
	}
	return 17
}

// pathLength reads /a/b, ~/a, ./a, ../a and \\server\share, with a position after it. The slash of </tag> begins none.
func pathLength(s string, before byte) int {
	switch {
	case s[0] == '/' && before == '<':
		return 0
	case s[0] == '/', strings.HasPrefix(s, "~/"), strings.HasPrefix(s, "./"), strings.HasPrefix(s, "../"), strings.HasPrefix(s, `\\`), strings.HasPrefix(s, `.\`):
	default:
		return 0
	}
	n := trimPunctuation(s, pathSigns(s))
	if n < 2 || !strings.ContainsFunc(s[:n], func(r rune) bool { return r >= 0x80 || isAlnum(byte(r)) }) {
		return 0
	}
	return n + positionLength(s[n:])
}

// pathSigns is the length of the signs of a path that s begins with.
func pathSigns(s string) int {
	i := 0
	for i < len(s) && s[i] > ' ' && strings.IndexByte("\"'`<>|,;:()[]{}*?", s[i]) < 0 {
		i++
	}
	return i
}

// positionLength reads :12 and :12:5 after a path.
func positionLength(s string) int {
	n := 0
	for range 2 {
		if n+1 < len(s) && s[n] == ':' && isDigit(s[n+1]) {
			n += 1 + digitsLength(s[n+1:])
		}
	}
	return n
}

// windowsPathLength reads C:\a\b and C:/a/b.
func windowsPathLength(s string) int {
	if len(s) < 4 || s[1] != ':' || s[2] != '\\' && s[2] != '/' || s[3] == '/' {
		return 0
	}
	n := trimPunctuation(s, 2+pathSigns(s[2:]))
	if n < 4 {
		return 0
	}
	return n + positionLength(s[n:])
}

// relativePathLength reads src/a/main.go: folders, and a file with an ending.
func relativePathLength(s string) int {
	n := trimPunctuation(s, pathSigns(s))
	slash := strings.LastIndexAny(s[:n], `/`)
	if slash <= 0 || strings.IndexByte(s[:n], '=') >= 0 {
		return 0
	}
	name := s[slash+1 : n]
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || len(name)-dot > 6 || len(name)-dot < 2 || !isLetter(name[dot+1]) {
		return 0
	}
	return n + positionLength(s[n:])
}
