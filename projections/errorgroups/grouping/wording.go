package grouping

import "strings"

// engineWording gives one text for what each JavaScript engine says in its own words, so that an error
// without a stack is one group in Chrome, Firefox, Safari and Edge.
func engineWording(typ, message string) (string, bool) {
	switch typ {
	case "TypeError", "ReferenceError", "SyntaxError", "RangeError", "InternalError":
	default:
		return "", false
	}
	message = clip(message, maxTitleBytes)
	for _, w := range wordings {
		if w.matches(message) {
			return w.as, true
		}
	}
	if name, ok := strings.CutPrefix(message, "Can't find variable: "); ok {
		return clip(name, 80) + " is not defined", true
	}
	if i := strings.Index(message, " is not a function"); i > 0 && !strings.Contains(message, "(near ") {
		return lastProperty(message[:i]) + " is not a function", true
	}
	return "", false
}

// lastProperty gives the name of what was called: c of a.b.c.
func lastProperty(s string) string {
	if i := strings.LastIndexAny(s, ". "); i >= 0 {
		s = s[i+1:]
	}
	return clip(s, 80)
}

// wording is one text for messages that begin and contain certain words.
type wording struct {
	begins, contains, as string
}

// matches says whether message is one of them.
func (w *wording) matches(message string) bool {
	return strings.HasPrefix(message, w.begins) && strings.Contains(message, w.contains)
}

// wordings are the families of messages, in the engines' order V8, SpiderMonkey, JavaScriptCore.
var wordings = []wording{
	{"Cannot read propert", "of undefined", "property of undefined"},
	{"Cannot set propert", "of undefined", "property of undefined"},
	{"can't access property", "is undefined", "property of undefined"},
	{"undefined is not an object", "", "property of undefined"},
	{"Unable to get property", "of undefined", "property of undefined"},
	{"Cannot read propert", "of null", "property of null"},
	{"Cannot set propert", "of null", "property of null"},
	{"can't access property", "is null", "property of null"},
	{"null is not an object", "", "property of null"},
	{"Unable to get property", "of null", "property of null"},
	{"", "is not iterable", "not iterable"},
	{"", "is not a function (near ", "not iterable"},
	{"Maximum call stack size exceeded", "", "stack overflow"},
	{"too much recursion", "", "stack overflow"},
	{"Failed to fetch dynamically imported module", "", "dynamic import failed"},
	{"error loading dynamically imported module", "", "dynamic import failed"},
	{"Importing a module script failed", "", "dynamic import failed"},
	{"Failed to fetch", "", "fetch failed"},
	{"NetworkError when attempting to fetch resource", "", "fetch failed"},
	{"Load failed", "", "fetch failed"},
	{"Assignment to constant variable", "", "assignment to constant"},
	{"invalid assignment to const", "", "assignment to constant"},
	{"Attempted to assign to readonly property", "", "assignment to constant"},
	{"Unexpected end of JSON input", "", "invalid JSON: unexpected end"},
	{"JSON.parse: unexpected end of data", "", "invalid JSON: unexpected end"},
	{"JSON Parse error: Unexpected EOF", "", "invalid JSON: unexpected end"},
	{"", "is not valid JSON", "invalid JSON"},
	{"", "in JSON at position", "invalid JSON"},
	{"JSON.parse: ", "", "invalid JSON"},
	{"JSON Parse error: ", "", "invalid JSON"},
}
