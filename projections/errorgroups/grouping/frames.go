package grouping

import (
	"strconv"
	"strings"
)

// frameList reads a stack given as an array of frames, or as an object with one under "frames", "trace"
// or "stacktrace". In such an object the oldest call comes first, by the custom of those who send it.
func frameList(value string) []Frame {
	if strings.HasPrefix(value, "{") {
		var frames []Frame
		members(value, func(key, v string) bool {
			if key == "frames" || key == "trace" || key == "stacktrace" {
				frames = readFrames(v)
				reverse(frames)
			}
			return frames == nil
		})
		return frames
	}
	frames := readFrames(value)
	if oldestFirst(frames) {
		reverse(frames)
	}
	return frames
}

// readFrames reads an array of frames in the order sent.
func readFrames(value string) []Frame {
	var frames []Frame
	elements(value, func(v string) bool {
		if f, ok := readFrame(v); ok {
			frames = append(frames, f)
		}
		return len(frames) < maxFrames
	})
	return frames
}

// frameLines gives an array of printed frames as the text that they were taken from, "" for
// any other value. Java's own text of a frame lacks the "at " that the trace puts before it.
func frameLines(value string) string {
	if !strings.HasPrefix(value, "[") || !strings.HasPrefix(value[skipSpace(value, 1):], `"`) {
		return ""
	}
	var b strings.Builder
	elements(value, func(v string) bool {
		s := text(v)
		if function, place, ok := strings.Cut(s, "("); ok && strings.IndexByte(function, ' ') < 0 && isJavaPlace(place) {
			b.WriteString("at ")
		}
		b.WriteString(s)
		b.WriteByte('\n')
		return b.Len() < maxStackBytes
	})
	return b.String()
}

// oldestFirst says whether an array begins with what can only be the outermost call.
func oldestFirst(frames []Frame) bool {
	if len(frames) < 2 {
		return false
	}
	return isOutermost(frames[0].Function) && !isOutermost(frames[len(frames)-1].Function)
}

// isOutermost says whether programs begin in a function of this name.
func isOutermost(function string) bool {
	switch function {
	case "<module>", "{main}", "<main>", "main", "main.main", "runtime.main", "runtime.goexit", "_start", "__libc_start_main", "java.lang.Thread.run":
		return true
	}
	return false
}

// readFrame reads one frame: an object, or a text as a runtime would print it.
func readFrame(value string) (Frame, bool) {
	if !strings.HasPrefix(value, "{") {
		s := text(value)
		return textFrame(s), s != ""
	}
	var f Frame
	members(value, func(key, v string) bool { f.set(key, v); return true })
	return f, f.Function != "" || f.File != "" || f.Module != ""
}

// textFrame reads a frame from one line in any of the known languages.
func textFrame(s string) Frame {
	var t trace
	if t.parse(s) {
		return t.frames[0]
	}
	if file, line, col := cutPosition(s); line > 0 {
		return Frame{File: file, Line: line, Col: col}
	}
	return Frame{Function: s}
}

// set takes one member of a frame, under the spellings that clients use.
func (f *Frame) set(key, value string) {
	switch key {
	case "function", "method", "methodName", "functionName", "func", "method_name", "fn", "name", "symbol":
		if f.Function == "" {
			f.Function = text(value)
		}
	case "abs_path", "absPath", "path":
		if f.File == "" {
			f.File = text(value)
		}
	case "filename", "file", "fileName", "file_name", "url", "source", "scriptUrl", "sourceURL":
		if v := text(value); v != "" {
			f.File = v
		}
	case "module", "class", "className", "class_name", "package", "namespace", "declaringClass", "declaring_class", "typeName", "type":
		if f.Module == "" || key == "class" || key == "module" {
			f.Module = text(value)
		}
	case "lineno", "line", "lineNumber", "line_number", "lineNo", "line_no":
		f.Line = number(value)
	case "colno", "col", "column", "columnNumber", "column_number":
		f.Col = number(value)
	case "in_app", "inApp", "inProject", "in_project", "in_application":
		f.InApp = inAppOf(value)
	}
}

// inAppOf reads what a sender says of a frame.
func inAppOf(value string) InApp {
	switch text(value) {
	case "true", "1":
		return InAppYes
	case "false", "0":
		return InAppNo
	}
	return InAppUnknown
}

// number reads a number or a text that holds one; anything else is 0.
func number(value string) int {
	n, err := strconv.Atoi(text(value))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// languageOf tells the language of given frames, by the platform that the sender named or by the first file
// whose ending says it.
func languageOf(platform string, frames []Frame) language {
	switch platform {
	case "go", "golang":
		return golang
	case "python":
		return python
	case "java", "kotlin", "android", "scala", "jvm":
		return java
	case "javascript", "node", "nodejs", "browser", "js", "typescript", "react-native":
		return javaScript
	case "csharp", "dotnet", ".net", "c#":
		return dotNet
	case "ruby":
		return ruby
	case "php":
		return php
	case "rust":
		return rust
	}
	for i := range frames {
		if lang := languageOfFile(frames[i].File); lang != unknownLanguage {
			return lang
		}
	}
	return unknownLanguage
}

// languageOfFile tells a language by a file's ending.
func languageOfFile(file string) language {
	path, bundled := sourcePath(file)
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		if bundled || strings.HasPrefix(file, "node:") {
			return javaScript
		}
		return unknownLanguage
	}
	switch path[i+1:] {
	case "go":
		return golang
	case "py", "pyx":
		return python
	case "java", "kt", "scala", "groovy", "kts":
		return java
	case "js", "ts", "jsx", "tsx", "mjs", "cjs", "vue", "svelte", "mts", "cts", "bundle":
		return javaScript
	case "cs", "vb", "fs":
		return dotNet
	case "rb", "erb", "rake", "haml", "slim":
		return ruby
	case "php", "phtml":
		return php
	case "rs":
		return rust
	}
	return unknownLanguage
}
