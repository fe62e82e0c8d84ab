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
		case strings.HasPrefix(s, "Caused by: [CIRCULAR REFERENCE"):
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
	return ok && !strings.ContainsAny(file, "/\\:") && file != "" && !strings.HasSuffix(file, ".js")
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
