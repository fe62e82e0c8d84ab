package grouping

import "strings"

// isInApp says whether a frame is the sender's own code: the sender's word if it gave one, else what
// the place and the name say by the customs of the runtime.
func isInApp(lang language, f *Frame) bool {
	if f.InApp != InAppUnknown {
		return f.InApp == InAppYes
	}
	switch lang {
	case golang:
		return goInApp(f)
	case python:
		return pythonInApp(f.File)
	case java:
		return !javaLibraries.has(f.Function)
	case javaScript:
		return jsInApp(f.File)
	case dotNet:
		return !dotNetLibraries.has(f.Function)
	case ruby:
		return rubyInApp(f.File)
	case php:
		return f.File != "[internal function]" && !hasFolder(f.File, "vendor")
	case rust:
		return rustInApp(f)
	}
	return !anyLibraryPlace(f.File)
}

// anyLibraryPlace knows the folders of libraries in any language.
func anyLibraryPlace(file string) bool {
	file = slashed(file)
	_, library := afterLibraryRoot(file)
	return library || strings.HasPrefix(file, "node:") || strings.HasPrefix(file, "/usr/lib/")
}

// goInApp: not the module cache, not vendored, not the standard library.
func goInApp(f *Frame) bool {
	file := slashed(f.File)
	if strings.Contains(file, "/pkg/mod/") || hasFolder(file, "vendor") || strings.Contains(file, "@v") || file == "_cgo_gotypes.go" {
		return false
	}
	if strings.Contains(file, "/go/src/") && !strings.Contains(file, "/go/src/github.com/") || strings.Contains(file, "/libexec/src/") {
		return false
	}
	first := f.Function
	if i := strings.IndexAny(first, "/.("); i >= 0 {
		first = first[:i]
	}
	return first != "panic" && !goStandard[first]
}

// pythonInApp: not an installed package, not the standard library, not frozen.
func pythonInApp(file string) bool {
	file = slashed(file)
	if strings.HasPrefix(file, "<frozen") || strings.HasPrefix(file, "<__array_function__") || strings.HasPrefix(file, "<attrs") {
		return false
	}
	if strings.Contains(file, "/site-packages/") || strings.Contains(file, "/dist-packages/") || strings.Contains(file, ".egg/") {
		return false
	}
	if i := strings.Index(file, "/lib/python"); i >= 0 && i+11 < len(file) && isDigit(file[i+11]) {
		return false
	}
	return !strings.Contains(file, "/Lib/") || !strings.Contains(strings.ToLower(file), "python")
}

// jsInApp: not a package, not the runtime, not an extension, not a library's bundle.
func jsInApp(file string) bool {
	file = slashed(file)
	switch {
	case strings.Contains(file, "/node_modules/"), strings.HasPrefix(file, "node_modules/"), strings.HasPrefix(file, "node:"), strings.HasPrefix(file, "internal/"),
		strings.Contains(file, "-extension://"), strings.Contains(file, "/webpack/bootstrap"), strings.Contains(file, "webpack/runtime"), strings.Contains(file, "(webpack)"),
		strings.Contains(file, "/.pnpm/"), strings.Contains(file, "/.yarn/"):
		return false
	}
	if !strings.Contains(file, "://") {
		return strings.ContainsAny(file, "/.")
	}
	path, _ := sourcePath(file)
	if strings.Contains(path, "/npm/") || strings.Contains(path, "/ajax/libs/") || strings.HasPrefix(file, "https://unpkg.com/") {
		return false
	}
	return !hasAnyPrefix(strings.ToLower(lastSegments(path, 1)), jsLibraryNames)
}

// rubyInApp: not a gem, not the standard library, not evaluated by a library.
func rubyInApp(file string) bool {
	file = slashed(file)
	return !strings.Contains(file, "/gems/") && !strings.Contains(file, "/lib/ruby/") && !strings.Contains(file, "/rubygems/") && !strings.Contains(file, "/vendor/bundle/") &&
		!strings.HasPrefix(file, "<internal:") && !strings.HasPrefix(file, "bin/") && !strings.Contains(file, "/bin/") && !strings.HasPrefix(file, "config.ru")
}

// rustInApp: by the place where there is one, else by the crate.
func rustInApp(f *Frame) bool {
	file := slashed(f.File)
	if strings.HasPrefix(file, "/rustc/") || strings.Contains(file, "/registry/src/") || strings.Contains(file, "/.cargo/git/") ||
		strings.Contains(file, "/library/std/") || strings.Contains(file, "/library/core/") || strings.HasPrefix(file, "library/") || strings.HasSuffix(file, ".c") || strings.HasSuffix(file, ".S") {
		return false
	}
	if f.Function == "" {
		return file != ""
	}
	return f.Function != "main" && f.Function != "<unknown>" && !isRustRuntime(rustCrate(f.Function))
}

// hasFolder says whether folder is one of the parts of path.
func hasFolder(path, folder string) bool {
	path = slashed(path)
	for {
		i := strings.Index(path, folder)
		if i < 0 {
			return false
		}
		end := i + len(folder)
		if (i == 0 || path[i-1] == '/') && end < len(path) && path[end] == '/' {
			return true
		}
		path = path[end:]
	}
}

// slashed gives a path with "/" between its parts.
func slashed(path string) string {
	if strings.IndexByte(path, '\\') < 0 {
		return path
	}
	return strings.ReplaceAll(path, `\`, "/")
}
