package grouping

import "strings"

// parseDotNet reads Exception.ToString: the outer exceptions first in the head, but the innermost
// stack first below it:
//
//	Acme.OrderException: cannot place
//	 ---> System.TimeoutException: late
//	   at Acme.Db.Query(String sql) in /src/Db.cs:line 12
//	   --- End of inner exception stack trace ---
//	   at Acme.Orders.Place(Int32 id)
func (t *trace) parseDotNet(text string) {
	filling := -1
	for l := (lines{rest: text}); l.next(); {
		s := strings.TrimSpace(l.line)
		switch {
		case strings.HasPrefix(s, "at "):
			if filling < 0 {
				t.current()
				filling = len(t.links) - 1
				t.links[filling].from, t.links[filling].to = len(t.frames), len(t.frames)
			}
			t.addDotNet(filling, s[3:])
		case strings.HasPrefix(s, "--- End of inner exception"):
			if filling < 0 {
				t.current()
				filling = len(t.links)
			}
			if filling > 0 {
				filling--
				t.links[filling].from, t.links[filling].to = len(t.frames), len(t.frames)
			}
		case strings.HasPrefix(s, "---> (Inner Exception #") && len(t.frames) > 0:
			return
		case len(t.frames) == 0 && filling < 0:
			t.headDotNet(s)
		}
	}
}

// headDotNet takes a line of the head: exceptions with "--->" between or before them. Other
// lines are more of a message.
func (t *trace) headDotNet(s string) {
	part, rest, more := strings.Cut(s, "--->")
	if len(t.links) == 0 {
		t.openDotNet(part, "")
	}
	for more && len(t.links) < maxLinks {
		part, rest, more = strings.Cut(rest, "--->")
		t.openDotNet(part, "cause")
	}
}

// openDotNet begins a link from "type: message", if there is a type.
func (t *trace) openDotNet(s, relation string) {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "(Inner Exception #") {
		_, s, _ = strings.Cut(s, ") ")
	}
	if typ, message := splitHeader(s); typ != "" {
		t.open(typ, message, relation)
	}
}

// addDotNet adds the frame of what follows "at " to the link at index.
func (t *trace) addDotNet(index int, s string) {
	if len(t.frames) >= maxFrames {
		return
	}
	function, rest, _ := strings.Cut(s, "(")
	file, line := "", 0
	if i := strings.LastIndex(rest, ") in "); i >= 0 {
		file = rest[i+len(") in "):]
		if j := strings.LastIndex(file, ":line "); j >= 0 {
			file, line = file[:j], atoi(file[j+len(":line "):])
		}
	}
	t.frames = append(t.frames, Frame{Function: strings.TrimSpace(function), File: file, Line: line})
	t.links[index].to = len(t.frames)
}

// dotNetFunction writes a method as it was in the source: state machines of async methods, closures
// and local functions are put back under the method that they were made from, generic
// arguments are left out.
func dotNetFunction(dst []byte, s string) []byte {
	start := len(dst)
	stateMachine := false
	for len(s) > 0 {
		var segment string
		segment, s = cutDotNetSegment(s)
		switch {
		case strings.HasPrefix(segment, "<>c"), segment == "":
		case strings.HasPrefix(segment, "<"):
			stateMachine = true
			dst = dotNetGenerated(dotNetJoin(dst, start), segment)
		case segment == "MoveNext" && stateMachine:
		default:
			dst = append(dotNetJoin(dst, start), cutGeneric(segment)...)
		}
	}
	return dst
}

// dotNetJoin puts a dot between segments.
func dotNetJoin(dst []byte, start int) []byte {
	if len(dst) > start {
		return append(dst, '.')
	}
	return dst
}

// dotNetGenerated writes what a name that the compiler made was made from:
// <Place>d__12, <Place>b__0, <Place>g__Local|5_0, <<Place>b__0>d.
func dotNetGenerated(dst []byte, s string) []byte {
	s = strings.TrimLeft(s, "<")
	name, rest, _ := strings.Cut(s, ">")
	if name == "" {
		name = "<anonymous>"
	}
	dst = append(dst, name...)
	if i := strings.Index(rest, "g__"); i >= 0 {
		local, _, _ := strings.Cut(rest[i+3:], "|")
		return append(append(dst, '.'), local...)
	}
	if strings.HasPrefix(rest, "b__") {
		return append(dst, ".lambda"...)
	}
	return dst
}

// cutDotNetSegment takes the first segment off s; dots in angle or square brackets don't count.
func cutDotNetSegment(s string) (segment, rest string) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '<', '[':
			depth++
		case '>', ']':
			depth--
		case '.', '+':
			if depth <= 0 {
				return s[:i], s[i+1:]
			}
		}
	}
	return s, ""
}

// cutGeneric cuts generic arity and arguments: List`1[T] becomes List.
func cutGeneric(s string) string {
	if i := strings.IndexAny(s, "`["); i > 0 {
		return s[:i]
	}
	return s
}

// isDotNetWrapper says whether an exception type only carries another.
func isDotNetWrapper(typ string) bool {
	switch typ {
	case "System.AggregateException", "System.Reflection.TargetInvocationException", "System.TypeInitializationException",
		"AggregateException", "TargetInvocationException", "TypeInitializationException":
		return true
	}
	return false
}
