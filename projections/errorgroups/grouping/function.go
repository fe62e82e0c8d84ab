package grouping

import "strings"

// appendFrame writes the canonical form of a frame: function and file, each without what changes from
// build to build. Where a function's name holds its package or class, the file says nothing
// more and is left out.
func appendFrame(dst []byte, lang language, f *Frame) []byte {
	start := len(dst)
	short := *f
	short.Function, short.Module, short.File = clip(f.Function, maxNameBytes), clip(f.Module, maxNameBytes), clipFront(f.File)
	f = &short
	dst = appendFunction(dst, lang, f)
	if len(dst) > start && namesPackage(lang, f.Function) {
		return dst
	}
	dst = append(dst, fieldEnd)
	if f.File == "" {
		return append(dst, f.Module...)
	}
	return appendFile(dst, lang, f.File)
}

// clipFront gives at most the last maxNameBytes of a path.
func clipFront(path string) string { return path[max(0, len(path)-maxNameBytes):] }

// appendFunction writes the name of the frame's function by the rules of its runtime.
func appendFunction(dst []byte, lang language, f *Frame) []byte {
	name := f.Function
	switch lang {
	case golang:
		return goFunction(dst, name)
	case python:
		return pythonFunction(dst, name)
	case java:
		return javaFunction(dst, name)
	case javaScript:
		return append(dst, jsFunction(name)...)
	case dotNet:
		return dotNetFunction(dst, name)
	case ruby:
		return rubyFunction(dst, name)
	case php:
		return phpFunction(dst, name)
	case rust:
		return rustFunction(dst, name)
	}
	return appendWithoutAddress(dst, name)
}

// qualified joins module and function where clients send apart what the runtime prints in one.
func qualified(lang language, f *Frame) string {
	if f.Module == "" || f.Function == "" || strings.HasPrefix(f.Function, f.Module) {
		return f.Function
	}
	switch lang {
	case java, dotNet, golang:
		return f.Module + "." + f.Function
	case php, rust:
		return f.Module + "::" + f.Function
	}
	return f.Function
}

// namesPackage says whether a function's name is enough to find it.
func namesPackage(lang language, function string) bool {
	switch lang {
	case golang, java, dotNet, rust:
		return true
	case php:
		return !strings.Contains(function, "{closure") && strings.Contains(function, `\`) || strings.Contains(function, "->") || strings.Contains(function, "::")
	}
	return false
}

// appendWithoutAddress writes a name without hexadecimal addresses and the numbers after signs that
// compilers join generated names with.
func appendWithoutAddress(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if strings.HasPrefix(s[i:], "0x") {
			for i += 2; i < len(s) && isHex(s[i:i+1]); i++ {
			}
			continue
		}
		dst = append(dst, s[i])
		i++
		if c := s[i-1]; c == '$' || c == '#' {
			for i < len(s) && isDigit(s[i]) {
				i++
			}
		}
	}
	return dst
}

// namesNothing says whether a frame doesn't tell one function from another: module level,
// or an anonymous function.
func namesNothing(lang language, f *Frame) bool {
	switch f.Function {
	case "", "<module>", "<main>", "{main}", "{closure}", "<lambda>", "<top (required)>":
		return true
	}
	return lang == javaScript && jsFunction(f.Function) == "<anonymous>"
}

// isNoise says whether a frame is there or not by the version and make of the engine, and
// so can never decide.
func isNoise(lang language, f *Frame) bool {
	switch lang {
	case python:
		return isPythonInlined(f.Function)
	case java:
		return isJavaGenerated(f.Function)
	case javaScript:
		return isJSNative(f) || isJSHelper(jsFunction(f.Function))
	case dotNet:
		return strings.HasPrefix(f.Function, "lambda_method") || strings.HasPrefix(f.Function, "System.Runtime.")
	case golang:
		return f.Function == "runtime.goexit" || f.Function == "runtime.main" || f.Function == "runtime/debug.Stack"
	}
	return false
}
