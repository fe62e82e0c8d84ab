package grouping

import "strings"

// language is the runtime family that printed a stack.
type language uint8

const (
	unknownLanguage language = iota
	golang
	python
	java
	javaScript
	dotNet
	ruby
	php
	rust
)

// String names the language for explanations.
func (l language) String() string {
	return [...]string{"unknown", "go", "python", "java", "javascript", "dotnet", "ruby", "php", "rust"}[l]
}

// link is one exception of a chain; its frames are trace.frames[from:to], innermost first.
type link struct {
	typ, message, relation string
	from, to               int
}

// trace is a parsed stack: links from the outermost exception to the root cause. It is
// reused between occurrences.
type trace struct {
	lang   language
	links  []link
	frames []Frame
	// gaps are the places where a runtime left out frames that another link has.
	gaps []gap
}

// gap says that count frames of link were not printed, after the frame at index.
type gap struct{ link, index, count int }

// reset empties t and keeps its memory.
func (t *trace) reset() {
	clear(t.links)
	clear(t.frames)
	t.lang, t.links, t.frames, t.gaps = unknownLanguage, t.links[:0], t.frames[:0], t.gaps[:0]
}

// open begins a link; it reports false when the chain is long enough.
func (t *trace) open(typ, message, relation string) bool {
	if len(t.links) >= maxLinks {
		return false
	}
	t.links = append(t.links, link{typ, message, relation, len(t.frames), len(t.frames)})
	return true
}

// current is the link being filled; one without a type is opened when there is none.
func (t *trace) current() *link {
	if len(t.links) == 0 {
		t.open("", "", "")
	}
	return &t.links[len(t.links)-1]
}

// add gives a frame to the current link.
func (t *trace) add(f Frame) {
	if len(t.frames) >= maxFrames {
		return
	}
	l := t.current()
	t.frames = append(t.frames, f)
	l.to = len(t.frames)
}

// addGiven adds frames that a sender gave, with the class in the function's name where it was apart.
func (t *trace) addGiven(frames []Frame) {
	for _, f := range frames {
		f.Function = qualified(t.lang, &f)
		t.add(f)
	}
}

// reverseFrames turns the frames of the current link around, for runtimes that print the oldest first.
func (t *trace) reverseFrames(l *link) {
	reverse(t.frames[l.from:l.to])
}

// reverseLinks turns the chain around, for runtimes that print the root cause first, and
// hands each relation to the link that it describes.
func (t *trace) reverseLinks() {
	reverse(t.links)
	if len(t.links) > 0 {
		t.links[0].relation = ""
	}
}

// reverse turns s around in place.
func reverse[T any](s []T) {
	for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
		s[i], s[j] = s[j], s[i]
	}
}

// parse reads a stack as printed. It reports whether a frame was understood.
func (t *trace) parse(text string) bool {
	text = text[:min(len(text), maxStackBytes)]
	t.lang = detect(text)
	switch t.lang {
	case golang:
		t.parseGo(text)
	case python:
		t.parsePython(text)
	case java:
		t.parseJava(text)
	case javaScript:
		t.parseJavaScript(text)
	case dotNet:
		t.parseDotNet(text)
	case ruby:
		t.parseRuby(text)
	case php:
		t.parsePHP(text)
	case rust:
		t.parseRust(text)
	}
	return len(t.frames) > 0
}

// detect tells from the first line that looks like one runtime's own which language printed text.
func detect(text string) language {
	for l := (lines{rest: text}); l.next(); {
		if lang := detectLine(l.line); lang != unknownLanguage {
			return lang
		}
	}
	return unknownLanguage
}

// detectLine tells the language of one line, or unknownLanguage.
func detectLine(line string) language {
	s := strings.TrimLeft(line, " \t|+")
	switch {
	case s == "":
		return unknownLanguage
	case strings.HasPrefix(s, "at "):
		return detectAt(s[3:])
	case strings.HasPrefix(s, `File "`) && strings.Contains(s, `", line `):
		return python
	case strings.HasPrefix(s, "goroutine ") && strings.Contains(s, " ["), isGoLocation(line):
		return golang
	case isPHPFrame(s):
		return php
	case strings.HasPrefix(s, "thread '") && strings.Contains(s, " panicked at "), isRustFrame(s):
		return rust
	case strings.Contains(s, ":in `") || strings.Contains(s, ":in '"):
		return ruby
	case isGeckoFrame(s):
		return javaScript
	}
	return unknownLanguage
}

// detectAt tells the three runtimes apart that begin a frame with "at ".
func detectAt(s string) language {
	s = strings.TrimRight(s, " {,")
	open := strings.IndexByte(s, '(')
	switch {
	case strings.Contains(s, ":line ") && strings.Contains(s, ") in "):
		return dotNet
	case open < 0 || open > 0 && s[open-1] == ' ':
		// V8 puts a space before the place, or prints the place alone. Legacy .NET frames on Mono put
		// one before the arguments.
		if open > 0 && !isV8Place(s[open+1:]) {
			return dotNet
		}
		if open < 0 && !endsInPosition(s) {
			return unknownLanguage
		}
		return javaScript
	case isJavaPlace(s[open+1:]):
		return java
	case strings.Contains(s[:open], "."):
		return dotNet
	case endsInPosition(s):
		return javaScript
	}
	return unknownLanguage
}

// lines walks the lines of a text without allocation.
type lines struct {
	rest string
	line string
}

// next moves to the next line, its end and anything over maxLineBytes cut off.
func (l *lines) next() bool {
	if l.rest == "" {
		return false
	}
	i := strings.IndexByte(l.rest, '\n')
	if i < 0 {
		l.line, l.rest = l.rest, ""
	} else {
		l.line, l.rest = l.rest[:i], l.rest[i+1:]
	}
	l.line = strings.TrimSuffix(l.line, "\r")
	l.line = l.line[:min(len(l.line), maxLineBytes)]
	return true
}
