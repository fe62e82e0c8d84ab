package grouping

import "strings"

// isJSNative says whether a frame is the engine's own: Chrome prints it, Firefox doesn't.
func isJSNative(f *Frame) bool {
	switch f.File {
	case "<anonymous>", "native", "native code", "[native code]", "eval code", "":
		return f.Function != "eval" || f.File != ""
	}
	return strings.HasPrefix(f.File, "index ") && f.Line == 0
}

// isJSHelper says whether a frame is what transpilers put between an async function and its caller.
func isJSHelper(function string) bool {
	switch function {
	case "asyncGeneratorStep", "_next", "_throw", "tryCatch", "__awaiter", "fulfilled", "rejected", "step",
		"_asyncToGenerator", "_regenerator", "__webpack_require__", "processTicksAndRejections":
		return true
	}
	return false
}

// isJSAsync says whether a frame was not on the stack but waited for it. Engines differ
// in which of these they know.
func isJSAsync(function string) bool { return strings.HasPrefix(function, "async ") }

// jsFunction gives what all engines agree on: the function's own name. V8 adds the receiver's
// type ("Cart.pay", "Object.pay [as pay]", "new Cart"), Firefox the enclosing functions
// ("checkout/pay", "checkout/<"), Safari labels ("global code").
func jsFunction(s string) string {
	s = strings.TrimPrefix(s, "async ")
	if i := strings.Index(s, " [as "); i >= 0 {
		s = s[:i]
	}
	if strings.HasSuffix(s, "<") || strings.Contains(s, "./") {
		return "<anonymous>"
	}
	for _, label := range []string{"new ", "get ", "set ", "static ", "bound "} {
		s = strings.TrimPrefix(s, label)
	}
	if i := strings.LastIndexAny(s, "/."); i >= 0 {
		s = s[i+1:]
	}
	s = strings.TrimPrefix(s, "get ")
	s = strings.TrimPrefix(s, "set ")
	switch s {
	case "", "<anonymous>", "anonymous", "Anonymous function", "(anonymous function)", "(anonymous)", "?", "global code",
		"module code", "Global code", "eval code", "(global)", "[anonymous]":
		return "<anonymous>"
	}
	if strings.HasPrefix(s, "_callee") {
		return "_callee"
	}
	return s
}

// isBrowserPlace says whether a file was loaded over the network.
func isBrowserPlace(file string) bool {
	return strings.HasPrefix(file, "http://") || strings.HasPrefix(file, "https://") || strings.HasPrefix(file, "blob:") || strings.HasPrefix(file, "capacitor://")
}
