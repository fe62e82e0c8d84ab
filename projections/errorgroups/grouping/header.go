package grouping

import "strings"

// splitHeader takes "Type: message" apart. Without a plausible type, all of it is message.
func splitHeader(s string) (typ, message string) {
	s = strings.TrimSpace(trimReporter(s))
	head, rest, found := strings.Cut(s, ": ")
	if !found {
		head = strings.TrimSuffix(s, ":")
	}
	if !isTypeName(head) {
		return "", s
	}
	return head, rest
}

// reporters are what runtimes print before the exception that nobody caught.
var reporters = []string{
	"Uncaught (in promise) ", "Uncaught ", "Unhandled exception. ", "Unhandled Exception: ",
	"Unhandled promise rejection: ", "Unhandled Rejection: ",
	"PHP Fatal error:  Uncaught ", "Fatal error: Uncaught ", "[ERROR] ", "ERROR ",
}

// trimReporter cuts what a runtime prints before an uncaught exception.
func trimReporter(s string) string {
	if strings.HasPrefix(s, "Exception in thread ") {
		if i := strings.LastIndex(s[:min(len(s), 200)], `" `); i > 0 {
			return s[i+2:]
		}
	}
	for _, r := range reporters {
		if s != r && strings.HasPrefix(s, r) {
			return s[len(r):]
		}
	}
	return s
}

// isTypeName says whether s can be the name of an exception type: one word of letters, digits
// and the signs that languages join names with, beginning with a letter.
func isTypeName(s string) bool {
	if s == "" || len(s) > maxTokenBytes || !isLetter(s[0]) && s[0] != '_' && s[0] != '*' && s[0] != '\\' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !isAlnum(c) && strings.IndexByte("._$\\:/*`+@<>-[]", c) < 0 && c < 0x80 {
			return false
		}
	}
	return true
}

// looksLikeHeader says whether a line names an exception type, and not just any word.
func looksLikeHeader(s string) bool {
	typ, _ := splitHeader(s)
	if typ == "" {
		return false
	}
	for _, end := range []string{"Error", "Exception", "Throwable", "Failure", "Fault", "Warning", "Interrupt", "Timeout"} {
		if strings.HasSuffix(typ, end) {
			return true
		}
	}
	return strings.Contains(s, ": ") && (strings.ContainsAny(typ, ".\\") || typ[0] >= 'A' && typ[0] <= 'Z')
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isAlnum(c byte) bool  { return isLetter(c) || isDigit(c) }
func isLower(c byte) bool  { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }

// isHex says whether s is hexadecimal digits only.
func isHex(s string) bool {
	for i := range len(s) {
		if _, ok := hexDigit(s[i]); !ok {
			return false
		}
	}
	return s != ""
}

// allDigits says whether s is decimal digits only.
func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// cutPosition takes ":line:col" or ":line" off the end of s.
func cutPosition(s string) (file string, line, col int) {
	file, last, ok := cutNumber(s)
	if !ok {
		return s, 0, 0
	}
	if before, first, ok := cutNumber(file); ok {
		return before, first, last
	}
	return file, last, 0
}

// endsInPosition says whether s ends in ":line:col" or ":line".
func endsInPosition(s string) bool {
	_, _, ok := cutNumber(strings.TrimSuffix(s, ")"))
	return ok
}

// cutNumber takes ":number" off the end of s.
func cutNumber(s string) (before string, n int, ok bool) {
	i := len(s)
	for i > 0 && isDigit(s[i-1]) && len(s)-i < 9 {
		i--
	}
	if i == len(s) || i == 0 || s[i-1] != ':' {
		return s, 0, false
	}
	return s[:i-1], atoi(s[i:]), true
}

// atoi reads the digits that s begins with, up to nine of them.
func atoi(s string) int {
	n := 0
	for i := 0; i < len(s) && i < 9 && isDigit(s[i]); i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n
}
