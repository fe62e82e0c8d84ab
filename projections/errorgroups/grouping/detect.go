package grouping

import "strings"

// printed undoes what happens to a stack on its way: line ends escaped twice, colours of a terminal.
func printed(text string) string {
	if strings.IndexByte(text, '\n') < 0 && strings.Contains(text, `\n`) {
		text = strings.ReplaceAll(text, `\n`, "\n")
		text = strings.ReplaceAll(text, `\t`, "\t")
	}
	if strings.IndexByte(text, 0x1b) < 0 {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		i := 0
		for i < len(after) && (isDigit(after[i]) || after[i] == ';') {
			i++
		}
		text = after[min(i+1, len(after)):]
	}
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
		if open > 0 && (!strings.HasSuffix(s, ")") || !isV8Place(s[open+1:])) {
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
