package grouping

import "strings"

// parsePython reads a traceback with its chain, which Python prints from the root cause to the
// exception that escaped:
//
//	Traceback (most recent call last):
//	  File "/srv/shop/db.py", line 6, in query
//	    rows = conn.execute(sql)
//	KeyError: 'id'
//
//	The above exception was the direct cause of the following exception:
func (t *trace) parsePython(text string) {
	open := false
	for l := (lines{rest: text}); l.next(); {
		body := trimGroupBar(l.line)
		s := strings.TrimSpace(body)
		switch {
		case strings.HasPrefix(s, `File "`):
			if !open {
				open = t.open("", "", "")
			}
			if open {
				t.addPython(s)
			}
		case strings.HasPrefix(s, "[Previous line repeated "):
			if n := len(t.frames); n > 0 {
				t.add(t.frames[n-1])
			}
		case strings.Contains(s, "direct cause of the following exception"):
			t.current().relation = "cause"
		case strings.HasPrefix(s, "During handling of the above exception"):
			t.current().relation = "context"
		case open && s != "" && body[0] != ' ' && body[0] != '\t' && !strings.HasPrefix(s, "+-"):
			cur := t.current()
			cur.typ, cur.message = splitHeader(s)
			open = false
		}
	}
	for i := range t.links {
		t.reverseFrames(&t.links[i])
	}
	t.reverseLinks()
}

// trimGroupBar cuts the bar that exception groups print before each line: "  | ".
func trimGroupBar(line string) string {
	s := strings.TrimLeft(line, " ")
	if rest, ok := strings.CutPrefix(s, "| "); ok {
		return rest
	}
	if strings.HasPrefix(s, "+ Exception Group") || s == "|" {
		return ""
	}
	return line
}

// addPython adds the frame of a line like: File "/srv/a.py", line 6, in query.
func (t *trace) addPython(s string) {
	file, rest, ok := strings.Cut(s[len(`File "`):], `", line `)
	if !ok {
		return
	}
	_, function, _ := strings.Cut(rest, ", in ")
	t.add(Frame{Function: function, File: file, Line: atoi(rest)})
}

// pythonFunction writes a function without its class: tracebacks name only the function, some
// clients send the qualified name.
func pythonFunction(dst []byte, s string) []byte {
	if i := strings.LastIndexByte(s, '.'); i >= 0 && i+1 < len(s) {
		s = s[i+1:]
	}
	return append(dst, s...)
}

// isPythonInlined says whether a frame exists only in Python before 3.12, which has no frames for
// comprehensions.
func isPythonInlined(function string) bool {
	return strings.HasSuffix(function, "<listcomp>") || strings.HasSuffix(function, "<dictcomp>") || strings.HasSuffix(function, "<setcomp>")
}
