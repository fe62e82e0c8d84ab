package grouping

import "strings"

// appendHashless writes a file's path without the hashes, chunk numbers and versions that bundlers
// put in names: main.3f2a9c1b.chunk.js and main-BfA3xY_9.js become main.chunk.js and main.js.
func appendHashless(dst []byte, path string) []byte {
	base := strings.LastIndexByte(path, '/') + 1
	dst = appendVersionless(dst, path[:base])
	name := path[base:]
	start := len(dst)
	for len(name) > 0 {
		i := strings.IndexAny(name, ".-~_@")
		if i < 0 {
			i = len(name)
		}
		part := name[:i]
		if h := viteHash(name); len(dst) > start && dst[len(dst)-1] == '-' && h > 0 {
			i = h
			dst = dst[:len(dst)-1]
		} else if isBuildPart(part) {
			dst = trimSeparator(dst, start)
		} else {
			dst = append(dst, part...)
		}
		if i < len(name) {
			dst = append(trimDouble(dst, start), name[i])
			i++
		}
		name = name[i:]
	}
	return dst
}

// trimSeparator cuts the sign that stood before a part left out.
func trimSeparator(dst []byte, start int) []byte {
	if len(dst) > start && strings.IndexByte(".-~_@", dst[len(dst)-1]) >= 0 {
		return dst[:len(dst)-1]
	}
	return dst
}

// trimDouble cuts a sign before another one, and writes # for a name that was all hash.
func trimDouble(dst []byte, start int) []byte {
	if len(dst) == start {
		return append(dst, '#')
	}
	return trimSeparator(dst, start)
}

// viteHash gives the length of the eight base64 signs that Rollup puts after a dash, or 0.
func viteHash(s string) int {
	if len(s) < 9 || s[8] != '.' {
		return 0
	}
	digits, upper := 0, 0
	for i := range 8 {
		switch c := s[i]; {
		case isDigit(c), c == '_', c == '-':
			digits++
		case isUpper(c):
			upper++
		case !isLower(c):
			return 0
		}
	}
	if digits > 0 && upper > 0 || upper > 2 || digits > 2 {
		return 8
	}
	return 0
}

// isBuildPart says whether a part of a file's name is a hash, a number, a version or "min".
func isBuildPart(s string) bool {
	switch {
	case s == "min", s == "prod", s == "production", s == "development":
		return true
	case allDigits(s):
		return true
	case len(s) >= 6 && isHex(s) && hasDigit(s), len(s) >= 16 && isHex(s):
		return true
	case len(s) == 8 && hasDigit(s) && isBase32(s):
		return true
	}
	return len(s) >= 10 && isRandom(s)
}

// isBase32 says whether s is upper-case letters and digits, as esbuild's hashes.
func isBase32(s string) bool {
	for i := range len(s) {
		if !isUpper(s[i]) && !isDigit(s[i]) {
			return false
		}
	}
	return true
}

// hasDigit says whether s has a decimal digit.
func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// appendVersionless writes folders without the versions of packages: gin@v1.9.1/, rack-2.2.3/.
func appendVersionless(dst []byte, folders string) []byte {
	for len(folders) > 0 {
		i := strings.IndexByte(folders, '/')
		name := folders[:i]
		if at := strings.LastIndexByte(name, '@'); at > 0 {
			name = name[:at]
		} else if dash := strings.LastIndexByte(name, '-'); dash > 0 && dash+1 < len(name) && isDigit(name[dash+1]) {
			name = name[:dash]
		}
		dst = append(append(dst, name...), '/')
		folders = folders[i+1:]
	}
	return dst
}
