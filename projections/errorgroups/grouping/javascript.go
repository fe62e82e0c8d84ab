package grouping

import "strings"

// parseJavaScript reads the stacks of V8 (Chrome, Edge, Node), SpiderMonkey (Firefox),
// JavaScriptCore (Safari) and the old Edge, with the causes that Node prints:
//
//	TypeError: x is undefined            pay@https://shop.example/app.js:7:11
//	    at Cart.pay (/srv/a.js:7:11)     @https://shop.example/app.js:9:1
//	    at async g (/srv/a.js:3:25) {
//	  [cause]: Error: inner
func (t *trace) parseJavaScript(text string) {
	for l := (lines{rest: text}); l.next(); {
		s := strings.TrimSpace(l.line)
		switch {
		case strings.HasPrefix(s, "at "):
			t.addV8(s[3:])
		case isGeckoFrame(s):
			t.addGecko(s)
		case strings.HasPrefix(s, "... ") && strings.Contains(s, "matching cause stack trace"):
			t.gaps = append(t.gaps, gap{len(t.links) - 1, len(t.frames), atoi(s[4:])})
		case isNodeCause(s):
			typ, message := splitHeader(s[strings.Index(s, ": ")+2:])
			t.current()
			t.open(typ, strings.TrimSuffix(message, " {"), "cause")
		case len(t.frames) == 0 && looksLikeHeader(s) && (len(t.links) == 0 || t.links[0].typ == ""):
			typ, message := splitHeader(s)
			t.links = t.links[:0]
			t.open(typ, message, "")
		}
	}
	t.fillNodeGaps()
}

// isNodeCause says whether a line begins the cause of the exception above it.
func isNodeCause(s string) bool {
	return strings.HasPrefix(s, "[cause]: ") || strings.HasPrefix(s, "Caused by: ") || strings.HasPrefix(s, "caused by: ") || strings.HasPrefix(s, "cause: ")
}

// fillNodeGaps puts back the frames that "... n lines matching cause stack trace ..." stands
// for: those that follow, in the cause, the frame printed before the gap.
func (t *trace) fillNodeGaps() {
	for _, g := range t.gaps {
		if g.link < 0 || g.link+1 >= len(t.links) {
			continue
		}
		l, cause := &t.links[g.link], t.links[g.link+1]
		if g.index <= l.from || g.index > l.to {
			continue
		}
		from := indexFrame(t.frames[cause.from:cause.to], t.frames[g.index-1])
		if from < 0 || len(t.frames)+l.to-l.from+g.count > maxFrames {
			continue
		}
		from += cause.from + 1
		start := len(t.frames)
		t.frames = append(t.frames, t.frames[l.from:g.index]...)
		t.frames = append(t.frames, t.frames[from:min(from+g.count, cause.to)]...)
		t.frames = append(t.frames, t.frames[g.index:l.to]...)
		l.from, l.to = start, len(t.frames)
	}
}

// indexFrame finds f in frames, or gives -1.
func indexFrame(frames []Frame, f Frame) int {
	for i := range frames {
		if frames[i] == f {
			return i
		}
	}
	return -1
}

// isV8Place says whether s, the inside of a frame's parentheses, is a place as V8 prints it.
func isV8Place(s string) bool {
	return endsInPosition(s) || strings.HasPrefix(s, "<anonymous>") || strings.HasPrefix(s, "native") ||
		strings.HasPrefix(s, "index ") || strings.HasPrefix(s, "eval ") || strings.HasPrefix(s, "eval code")
}

// addV8 adds the frame of what follows "at ".
func (t *trace) addV8(s string) {
	s = strings.TrimRight(s, " {,")
	function, place := "", s
	if i := strings.Index(s, " ("); i >= 0 && strings.HasSuffix(s, ")") {
		function, place = s[:i], s[i+2:len(s)-1]
	} else if rest, ok := strings.CutPrefix(s, "async "); ok {
		function, place = "async ", rest
	}
	if strings.HasPrefix(place, "eval at ") {
		function, place = "eval", evalPlace(place)
	}
	file, line, col := cutPosition(place)
	t.add(Frame{Function: function, File: file, Line: line, Col: col})
}

// evalPlace gives the place of the innermost real file in "eval at f (/a.js:6:7), <anonymous>:1:1".
func evalPlace(s string) string {
	i := strings.LastIndexByte(s, '(')
	if i < 0 {
		return s
	}
	s = s[i+1:]
	if j := strings.IndexByte(s, ')'); j >= 0 {
		s = s[:j]
	}
	return s
}

// isGeckoFrame says whether a line is a frame as Firefox or Safari print it.
func isGeckoFrame(s string) bool {
	at := strings.IndexByte(s, '@')
	if strings.HasSuffix(s, "[native code]") {
		return at >= 0
	}
	if strings.IndexByte(s, ' ') >= 0 && !isGeckoLabel(s, at) {
		return false
	}
	place := s[at+1:]
	if _, _, ok := cutNumber(place); !ok {
		return false
	}
	return strings.Contains(place, "://") || at >= 0 && strings.ContainsAny(place, "/.")
}

// isGeckoLabel says whether the blanks of a line belong to what an engine prints as function:
// "global code", "setTimeout handler*f", or to "line 3 > eval".
func isGeckoLabel(s string, at int) bool {
	if at < 0 {
		return false
	}
	label, place := s[:at], s[at+1:]
	if strings.IndexByte(place, ' ') >= 0 && !strings.Contains(place, " > ") {
		return false
	}
	return strings.IndexByte(label, ' ') < 0 || strings.HasSuffix(label, " code") ||
		strings.IndexByte(label, '*') >= 0 || strings.HasPrefix(label, "get ") || strings.HasPrefix(label, "set ") || label == "(anonymous function)"
}

// addGecko adds a frame as Firefox or Safari print it.
func (t *trace) addGecko(s string) {
	function, place, found := strings.Cut(s, "@")
	if !found {
		function, place = "", s
	}
	file, line, col := cutPosition(place)
	if i := strings.Index(file, " line "); i >= 0 {
		function, file = "eval", file[:i]
	}
	if i := strings.LastIndexByte(function, '*'); i >= 0 {
		function = "async " + function[i+1:]
	}
	t.add(Frame{Function: function, File: file, Line: line, Col: col})
}
