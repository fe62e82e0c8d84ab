package grouping

import "strings"

// parseJava reads what Throwable.printStackTrace prints (Java, Kotlin, Scala, Groovy):
//
//	com.acme.OrderException: cannot place 17
//		at com.acme.Orders.place(Orders.java:41)
//		... 23 more
//	Caused by: java.sql.SQLException: timeout
//		Suppressed: java.io.IOException: close
func (t *trace) parseJava(text string) {
	suppressed := false
	for l := (lines{rest: text}); l.next(); {
		s := strings.TrimSpace(l.line)
		indented := l.line != "" && (l.line[0] == '\t' || l.line[0] == ' ')
		switch {
		case strings.HasPrefix(s, "at "):
			t.addJava(s[3:])
		case strings.HasPrefix(s, "Caused by: "):
			suppressed = suppressed && indented
			t.openJava(s[len("Caused by: "):], relationOf(suppressed))
		case strings.HasPrefix(s, "Suppressed: "):
			suppressed = true
			t.openJava(s[len("Suppressed: "):], "suppressed")
		case strings.HasPrefix(s, "... "):
			t.gaps = append(t.gaps, gap{len(t.links) - 1, len(t.frames), atoi(s[4:])})
		case len(t.frames) == 0 && (len(t.links) == 0 || t.links[0].typ == ""):
			t.headJava(s)
		}
	}
	t.fillJavaGaps()
}

// relationOf names the relation of a cause, which is the suppressed one's if it stands below it.
func relationOf(suppressed bool) string {
	if suppressed {
		return "suppressed"
	}
	return "cause"
}

// headJava takes the line before the first frame, if it names an exception.
func (t *trace) headJava(s string) {
	if looksLikeHeader(s) || isTypeName(trimReporter(s)) {
		t.links = t.links[:0]
		t.openJava(s, "")
	}
}

// openJava begins a link from "type: message".
func (t *trace) openJava(s, relation string) {
	typ, message := splitHeader(s)
	t.current()
	if relation == "" {
		t.links = t.links[:0]
	}
	t.open(typ, message, relation)
}

// fillJavaGaps puts back the frames that "... n more" stands for: the last n of the link that
// encloses this one. Only the chain of causes is filled.
func (t *trace) fillJavaGaps() {
	for _, g := range t.gaps {
		if g.link <= 0 || g.link >= len(t.links) || t.links[g.link].relation != "cause" {
			continue
		}
		outer := g.link - 1
		for outer > 0 && t.links[outer].relation == "suppressed" {
			outer--
		}
		t.extend(g.link, t.links[outer].to-min(g.count, t.links[outer].to-t.links[outer].from), t.links[outer].to)
	}
}

// extend gives link a copy of its frames with t.frames[from:to] after them.
func (t *trace) extend(index, from, to int) {
	l := &t.links[index]
	if from >= to || len(t.frames)+l.to-l.from+to-from > maxFrames {
		return
	}
	start := len(t.frames)
	t.frames = append(t.frames, t.frames[l.from:l.to]...)
	t.frames = append(t.frames, t.frames[from:to]...)
	l.from, l.to = start, len(t.frames)
}

// isJavaPlace says whether s, what follows the first parenthesis, is where Java says a frame is.
func isJavaPlace(s string) bool {
	place, _, ok := strings.Cut(s, ")")
	if !ok {
		return false
	}
	if place == "Native Method" || place == "Unknown Source" || place == "<generated>" {
		return true
	}
	file, _, ok := cutNumber(place)
	if !ok {
		file = place
	}
	for _, ext := range []string{".java", ".kt", ".scala", ".groovy", ".clj", ".kts"} {
		if strings.HasSuffix(file, ext) {
			return true
		}
	}
	return ok && strings.IndexAny(file, "/\\:") < 0 && file != "" && !strings.HasSuffix(file, ".js")
}

// addJava adds the frame of what follows "at ".
func (t *trace) addJava(s string) {
	function, place, ok := strings.Cut(s, "(")
	if !ok {
		return
	}
	place, _, _ = strings.Cut(place, ")")
	file, line, _ := cutPosition(place)
	t.add(Frame{Function: trimJavaModule(function), File: file, Line: line})
}

// trimJavaModule cuts the class loader and module before a class: app//, java.base@17/.
func trimJavaModule(s string) string {
	end := len(s)
	if i := strings.Index(s, "$$Lambda"); i >= 0 {
		end = i
	}
	if i := strings.LastIndexByte(s[:end], '/'); i >= 0 && !strings.Contains(s[:i], "$") {
		return s[i+1:]
	}
	return s
}

// javaProxies are the names that frameworks append to a class they subclass at run time.
var javaProxies = []string{
	"$$EnhancerBy", "$$FastClassBy", "$$SpringCGLIB", "$$Proxy", "$HibernateProxy", "$MockitoMock",
	"$ByteBuddy", "_$$_", "$Proxy", "_ClientProxy", "_Subclass", "$$KeyFactory",
}

// javaFunction writes class and method without what compilers and frameworks generate: lambda
// and anonymous class numbers, proxy suffixes, hidden class addresses.
func javaFunction(dst []byte, s string) []byte {
	for len(s) > 0 {
		i := strings.IndexAny(s, "$_-")
		if i < 0 {
			break
		}
		dst = append(dst, s[:i]...)
		s = s[i:]
		switch {
		case strings.HasPrefix(s, "$$Lambda"):
			dst = append(dst, "$$Lambda"...)
			s = fromMethod(s)
		case hasAnyPrefix(s, javaProxies):
			s = fromMethod(s)
		default:
			dst = append(dst, s[0])
			s = s[1:]
			if dst[len(dst)-1] != '_' {
				s = trimDigits(s)
			}
		}
	}
	return append(dst, s...)
}

// fromMethod returns s from the dot before its last name on.
func fromMethod(s string) string {
	if i := strings.LastIndexByte(s, '.'); i >= 0 {
		return s[i:]
	}
	return ""
}

// trimDigits cuts the digits that s begins with, if no letter follows them.
func trimDigits(s string) string {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	if i < len(s) && isLetter(s[i]) {
		return s
	}
	return s[i:]
}

// hasAnyPrefix says whether s begins with one of prefixes.
func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// isJavaGenerated says whether a frame is a bridge that the compiler or the reflection made.
func isJavaGenerated(function string) bool {
	return strings.Contains(function, ".access$") || strings.Contains(function, "GeneratedMethodAccessor") ||
		strings.Contains(function, "GeneratedConstructorAccessor") || strings.Contains(function, "$$FastClassBy") ||
		strings.HasPrefix(function, "jdk.internal.reflect.") || strings.HasPrefix(function, "sun.reflect.") ||
		strings.HasPrefix(function, "java.lang.reflect.") || strings.Contains(function, "$Proxy")
}

// isJavaWrapper says whether an exception type only carries another from one place to
// another, so that the error is the same without it.
func isJavaWrapper(typ string) bool {
	switch lastName(typ) {
	case "ExecutionException", "CompletionException", "InvocationTargetException", "UndeclaredThrowableException",
		"ExceptionInInitializerError", "PrivilegedActionException", "NestedServletException", "ServletException":
		return true
	}
	return false
}

// lastName is the part of a qualified name after its last separator.
func lastName(s string) string {
	if i := strings.LastIndexAny(s, ".\\:$+"); i >= 0 && i+1 < len(s) {
		return s[i+1:]
	}
	return s
}
