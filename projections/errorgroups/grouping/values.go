package grouping

import "strings"

// Each function here gives the length of the value that s begins with, or 0. None looks
// further than s goes, and callers give at most maxTokenBytes; none goes back.

// wordLength is the length of the letters and digits that s begins with.
func wordLength(s string) int {
	i := 0
	for i < len(s) && isAlnum(s[i]) {
		i++
	}
	return i
}

// digitsLength is the length of the digits that s begins with.
func digitsLength(s string) int {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

// ends says whether a value may end before s: no letter, digit or underscore follows.
func ends(s string) bool { return s == "" || !isAlnum(s[0]) && s[0] != '_' }

// numberLength reads -1, 3.14, 1,234,567, 1e-5, 50%, 3rd, 1.2.3.
func numberLength(s string) int {
	i := 0
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	i += digitsLength(s[i:])
	for i+1 < len(s) && (s[i] == '.' || s[i] == ',') && isDigit(s[i+1]) {
		i += 1 + digitsLength(s[i+1:])
	}
	i += exponentLength(s[i:])
	if i < len(s) && s[i] == '%' {
		return i + 1
	}
	if i+2 <= len(s) && ends(s[i+2:]) {
		switch s[i : i+2] {
		case "st", "nd", "rd", "th":
			return i + 2
		}
	}
	return i
}

// exponentLength reads e5, E-07.
func exponentLength(s string) int {
	if len(s) < 2 || s[0]|0x20 != 'e' {
		return 0
	}
	i := 1
	if s[i] == '-' || s[i] == '+' {
		i++
	}
	n := digitsLength(s[i:])
	if n == 0 || !ends(s[i+n:]) {
		return 0
	}
	return i + n
}

// durationLength reads 30s, 1.5ms, 2m30s, 100 ms, 5 seconds.
func durationLength(s string) int {
	total := 0
	for {
		n := numberLength(s[total:])
		if n == 0 || total+n >= len(s) {
			break
		}
		u := unitLength(s[total+n:], durationUnits)
		if u == 0 {
			break
		}
		total += n + u
		if total >= len(s) || !isDigit(s[total]) {
			break
		}
	}
	if total > 0 && ends(s[total:]) {
		return total
	}
	return spacedUnit(s, durationWords)
}

// sizeLength reads 10MB, 5 KiB, 120 bytes.
func sizeLength(s string) int {
	if n := numberLength(s); n > 0 && n < len(s) {
		if u := unitLength(s[n:], sizeUnits); u > 0 && ends(s[n+u:]) {
			return n + u
		}
	}
	return spacedUnit(s, sizeWords)
}

// spacedUnit reads a number, one blank and one of the words.
func spacedUnit(s string, words map[string]bool) int {
	n := numberLength(s)
	if n == 0 || n+1 >= len(s) || s[n] != ' ' {
		return 0
	}
	w := 0
	for n+1+w < len(s) && (isLetter(s[n+1+w]) || s[n+1+w] >= 0x80) {
		w++
	}
	if w > 0 && words[s[n+1:n+1+w]] && ends(s[n+1+w:]) {
		return n + 1 + w
	}
	return 0
}

var durationUnits = []string{"ms", "µs", "μs", "us", "ns", "min", "sec", "s", "m", "h", "d"}
var sizeUnits = []string{"KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "TB", "kB", "kb", "mb", "gb", "Kb", "Mb", "B", "K", "M", "G"}

// unitLength is the length of the unit that s begins with.
func unitLength(s string, units []string) int {
	for _, u := range units {
		if strings.HasPrefix(s, u) && (len(s) == len(u) || !isLetter(s[len(u)])) {
			return len(u)
		}
	}
	return 0
}

var durationWords = wordSet(`ms s us ns µs sec secs second seconds minute minutes min mins hour hours hr hrs day days week weeks
	millisecond milliseconds millis microsecond microseconds nanosecond nanoseconds`)
var sizeWords = wordSet(`byte bytes B KB MB GB TB KiB MiB GiB kB kb Kb Mb bits`)

// wordSet is the set of the words of a text.
func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// isoDurationLength reads PT1H30M and P3DT4H.
func isoDurationLength(s string) int {
	if len(s) < 3 || s[0] != 'P' || s[1] != 'T' && !isDigit(s[1]) {
		return 0
	}
	i := 1
	for i < len(s) && (isDigit(s[i]) || strings.IndexByte("TDHMSWY.", s[i]) >= 0) {
		i++
	}
	for i > 0 && s[i-1] == '.' {
		i--
	}
	if !hasDigit(s[:i]) || !ends(s[i:]) || isDigit(s[i-1]) {
		return 0
	}
	return i
}

// uuidLength reads 8-4-4-4-12 hexadecimal digits.
func uuidLength(s string) int {
	if len(s) < 36 {
		return 0
	}
	for i := range 36 {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if _, ok := hexDigit(s[i]); dash != (s[i] == '-') || !dash && !ok {
			return 0
		}
	}
	if !ends(s[36:]) {
		return 0
	}
	return 36
}

// hexLength reads 0x1f, and runs of seven or more digits of one case with both letters and
// decimal digits, or of thirty-two or more of any.
func hexLength(s string) int {
	if len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		if n := wordLength(s[2:]); n > 0 && isHex(s[2:2+n]) {
			return 2 + n
		}
	}
	n := wordLength(s)
	if n < 7 || !isHex(s[:n]) || n < len(s) && s[n] == '(' {
		return 0
	}
	lower, upper := false, false
	digits := 0
	for i := range n {
		lower, upper = lower || isLower(s[i]), upper || isUpper(s[i])
		if isDigit(s[i]) {
			digits++
		}
	}
	if n >= 32 || digits > 0 && lower != upper {
		return n
	}
	return 0
}

// podSuffix reads the second random part of a Kubernetes pod's name: the -x2k4z of api-5d4f8c7b9-x2k4z.
func podSuffix(s string) int {
	if len(s) < 6 || s[0] != '-' || wordLength(s[1:min(len(s), 8)]) != 5 || s[1:6] != strings.ToLower(s[1:6]) {
		return 0
	}
	return 6
}

// idLength reads a run of letters and digits that nobody would write: x7f9k2ab, 01ARZ3NDEKTSV4RRFFQ69G5FAV.
func idLength(s string) int {
	n := wordLength(s)
	if n < 4 || n < len(s) && s[n] == '(' {
		return 0
	}
	if n >= 8 && isRandom(s[:n]) || n < 8 && isShortRandom(s[:n]) {
		return n
	}
	return 0
}

// isShortRandom says whether a short word is no name: a digit in front and more of them among letters (7f3a), or
// a change with nearly every sign (x7f9k2). Names like log4j2 and e2e change less.
func isShortRandom(s string) bool {
	changes := 0
	for i := 1; i < len(s); i++ {
		if isDigit(s[i]) != isDigit(s[i-1]) {
			changes++
		}
	}
	if isDigit(s[0]) || isHex(s) {
		return changes >= 2 && !strings.HasSuffix(s, "bit")
	}
	return len(s) >= 6 && changes >= 4
}

// isRandom says whether a word changes between letters and digits, and between cases, more often than
// names do: a run (capitalised words count as one) is shorter than three signs on the average.
func isRandom(s string) bool {
	if !hasDigit(s) {
		return false
	}
	runs, letterRuns := 0, 0
	for i := 0; i < len(s); runs++ {
		switch {
		case isDigit(s[i]):
			i += digitsLength(s[i:])
		case isUpper(s[i]):
			letterRuns++
			for i++; i < len(s) && isUpper(s[i]); i++ {
			}
			if i > 1 && isUpper(s[i-2]) {
				continue
			}
			for i < len(s) && isLower(s[i]) {
				i++
			}
		case isLower(s[i]):
			letterRuns++
			for i < len(s) && isLower(s[i]) {
				i++
			}
		default:
			i++
		}
	}
	return runs >= 4 && letterRuns >= 2 && runs*29 > len(s)*10
}

// tokenLength reads a JWT, or a long run of base64.
func tokenLength(s string) int {
	if strings.HasPrefix(s, "eyJ") {
		i := 0
		for i < len(s) && (isAlnum(s[i]) || strings.IndexByte("._-=", s[i]) >= 0) {
			i++
		}
		if i >= 20 {
			return i
		}
	}
	if i := strings.IndexByte(s[:min(len(s), 8)], '_'); i > 0 && wordLength(s) == i && !hasDigit(s[:i]) {
		return 0 // the kind before the id stays: cus_, pi_
	}
	i := 0
	for i < len(s) && (isAlnum(s[i]) || strings.IndexByte("+/=_-", s[i]) >= 0) {
		i++
	}
	if i >= 24 && i <= 4096 && strings.IndexByte(s[:i], '/') < 0 && isRandom(s[:min(i, maxTokenBytes)]) && strings.ContainsAny(s[:i], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		return i
	}
	return 0
}
