package grouping

import "strings"

// parsePHP reads Throwable::__toString or getTraceAsString, with the chain that PHP prints root
// cause first:
//
//	PDOException: late in /var/www/app/Db.php:12
//	Stack trace:
//	#0 /var/www/app/Orders.php(41): App\Db->query('SELECT...')
//	#1 {main}
//
//	Next App\OrderException: cannot place in /var/www/app/Orders.php:44
//
// A PHP line names the call and where it was made; shifted by one, it names a function
// and the place in it, as everywhere else.
func (t *trace) parsePHP(text string) {
	file, line := "", 0
	for l := (lines{rest: text}); l.next(); {
		s := strings.TrimSpace(l.line)
		if isPHPFrame(s) {
			file, line = t.addPHP(s, file, line)
			continue
		}
		if next, ok := strings.CutPrefix(s, "Next "); ok && len(t.links) > 0 {
			t.current().relation = "cause"
			file, line = t.headPHP(next)
			continue
		}
		if len(t.frames) == 0 && len(t.links) == 0 && looksLikeHeader(s) {
			file, line = t.headPHP(s)
		}
	}
	t.reverseLinks()
}

// headPHP opens a link from "Type: message in file:line".
func (t *trace) headPHP(s string) (file string, line int) {
	typ, message := splitHeader(s)
	if i := strings.LastIndex(message, " in "); i >= 0 {
		if f, n, ok := cutNumber(message[i+4:]); ok {
			message, file, line = message[:i], f, n
		}
	}
	t.open(typ, message, "")
	return file, line
}

// isPHPFrame says whether a line is like "#0 /a.php(12): f()", "#1 [internal function]: g()" or "#2 {main}".
func isPHPFrame(s string) bool {
	if len(s) < 4 || s[0] != '#' || !isDigit(s[1]) {
		return false
	}
	_, rest, ok := strings.Cut(s, " ")
	if !ok {
		return false
	}
	return strings.HasPrefix(rest, "{main}") || strings.HasPrefix(rest, "[internal function]") || strings.Contains(rest, "): ")
}

// addPHP adds the frame of a line, at the place that the line before it gave, and returns its own.
func (t *trace) addPHP(s, file string, line int) (string, int) {
	_, s, _ = strings.Cut(s, " ")
	if strings.HasPrefix(s, "{main}") {
		t.add(Frame{Function: "{main}", File: file, Line: line})
		return "", 0
	}
	place, call, _ := strings.Cut(s, ": ")
	if i := strings.IndexByte(call, '('); i >= 0 {
		call = call[:i]
	}
	t.add(Frame{Function: call, File: file, Line: line})
	if strings.HasPrefix(place, "[internal") {
		return "[internal function]", 0
	}
	if i := strings.LastIndexByte(place, '('); i >= 0 {
		return place[:i], atoi(place[i+1:])
	}
	return place, 0
}

// phpFunction writes a function the same for static and other calls, closures without where they stand
// (8.4 prints it), anonymous classes without the file and offset that PHP names them by.
func phpFunction(dst []byte, s string) []byte {
	if strings.Contains(s, "{closure") {
		return append(dst, "{closure}"...)
	}
	if i := strings.Index(s, "class@anonymous"); i >= 0 {
		dst = append(dst, s[:i]...)
		dst = append(dst, "class@anonymous"...)
		if j := strings.LastIndex(s, "->"); j > i {
			dst = append(append(dst, "::"...), s[j+2:]...)
		}
		return dst
	}
	if class, method, ok := strings.Cut(s, "->"); ok {
		dst = append(append(dst, class...), "::"...)
		return append(dst, method...)
	}
	return append(dst, s...)
}
