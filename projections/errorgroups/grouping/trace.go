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
	text = printed(text[:min(len(text), maxStackBytes)])
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
