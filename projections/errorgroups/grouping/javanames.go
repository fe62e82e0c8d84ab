package grouping

import "strings"

// javaProxies are the names that frameworks append to a class they subclass at run time.
var javaProxies = []string{
	"$$EnhancerBy", "$$FastClassBy", "$$SpringCGLIB", "$$Proxy", "$HibernateProxy", "$MockitoMock",
	"$ByteBuddy", "_$$_", "$Proxy", "_ClientProxy", "_Subclass", "$$KeyFactory",
}

// javaFunction writes class and method without what compilers and frameworks generate: lambda
// and anonymous class numbers, proxy suffixes, hidden class addresses.
func javaFunction(dst []byte, s string) []byte {
	for len(s) > 0 {
		i := strings.IndexAny(s, "$_-")
		if i < 0 {
			break
		}
		dst = append(dst, s[:i]...)
		s = s[i:]
		switch {
		case strings.HasPrefix(s, "$$Lambda"):
			dst = append(dst, "$$Lambda"...)
			s = fromMethod(s)
		case hasAnyPrefix(s, javaProxies):
			s = fromMethod(s)
		default:
			dst = append(dst, s[0])
			s = s[1:]
			if dst[len(dst)-1] != '_' {
				s = trimDigits(s)
			}
		}
	}
	return append(dst, s...)
}

// fromMethod returns s from the dot before its last name on.
func fromMethod(s string) string {
	if i := strings.LastIndexByte(s, '.'); i >= 0 {
		return s[i:]
	}
	return ""
}

// trimDigits cuts the digits that s begins with, if no letter follows them.
func trimDigits(s string) string {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	if i < len(s) && isLetter(s[i]) {
		return s
	}
	return s[i:]
}

// hasAnyPrefix says whether s begins with one of prefixes.
func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// isJavaGenerated says whether a frame is a bridge that the compiler or the reflection made.
func isJavaGenerated(function string) bool {
	return strings.Contains(function, ".access$") || strings.Contains(function, "GeneratedMethodAccessor") ||
		strings.Contains(function, "GeneratedConstructorAccessor") || strings.Contains(function, "$$FastClassBy") ||
		strings.HasPrefix(function, "jdk.internal.reflect.") || strings.HasPrefix(function, "sun.reflect.") ||
		strings.HasPrefix(function, "java.lang.reflect.") || strings.Contains(function, "$Proxy")
}

// isJavaWrapper says whether an exception type only carries another from one place to
// another, so that the error is the same without it.
func isJavaWrapper(typ string) bool {
	switch lastName(typ) {
	case "ExecutionException", "CompletionException", "InvocationTargetException", "UndeclaredThrowableException",
		"ExceptionInInitializerError", "PrivilegedActionException", "NestedServletException", "ServletException":
		return true
	}
	return false
}

// lastName is the part of a qualified name after its last separator.
func lastName(s string) string {
	if i := strings.LastIndexAny(s, ".\\:$+"); i >= 0 && i+1 < len(s) {
		return s[i+1:]
	}
	return s
}
