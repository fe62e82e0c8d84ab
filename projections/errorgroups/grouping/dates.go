package grouping

import "strings"

// dateLength reads dates and times that begin with a digit: 2026-11-21T10:00:00.5Z, 2026/11/21 10:00,
// 21.11.2026, 21/Nov/2026:10:00:00 +0000, 21 Nov 2026 10:00:00 GMT, 20261121T100000Z, 10:00:00.123.
func dateLength(s string) int {
	if n := dayLength(s); n > 0 {
		return n + afterDay(s[n:])
	}
	if n := clockLength(s); n > 0 {
		return n + zoneLength(s[n:])
	}
	return 0
}

// dayLength reads the date alone.
func dayLength(s string) int {
	a := digitsLength(s)
	if a == 8 && len(s) > 14 && s[8] == 'T' && digitsLength(s[9:]) == 6 {
		return 15
	}
	if a == 0 || a > 4 || a == 3 || a >= len(s) {
		return 0
	}
	sep := s[a]
	if sep == ' ' || sep == '/' || sep == '-' {
		if m := monthLength(s[a+1:]); m > 0 && a <= 2 && a+1+m < len(s) {
			rest := s[a+1+m:]
			if y := digitsLength(rest[1:]); strings.IndexByte(" /-,", rest[0]) >= 0 && (y == 4 || y == 2 && sep == '-') {
				return a + 1 + m + 1 + y
			}
		}
	}
	if sep != '-' && sep != '/' && sep != '.' {
		return 0
	}
	b := digitsLength(s[a+1:])
	if b == 0 || b > 2 || a+1+b >= len(s) || s[a+1+b] != sep {
		return 0
	}
	c := digitsLength(s[a+b+2:])
	end := a + b + 2 + c
	if a == 4 && (c == 1 || c == 2) && s[0] <= '2' || a <= 2 && c == 4 {
		if end == len(s) || s[end] == 'T' || ends(s[end:]) {
			return end
		}
	}
	return 0
}

// afterDay reads the time and zone that follow a date.
func afterDay(s string) int {
	n := 0
	if strings.HasPrefix(s, ", ") {
		n = 2
	} else if s != "" && strings.IndexByte("T _:,", s[0]) >= 0 {
		n = 1
	}
	if strings.HasPrefix(s[n:], "at ") {
		n += 3
	}
	if n == 0 {
		return 0
	}
	t := clockLength(s[n:])
	if t == 0 {
		t = shortClockLength(s[n:])
	}
	if t == 0 {
		return zoneLength(s)
	}
	return n + t + zoneLength(s[n+t:])
}

// clockLength reads 10:00:00 with a fraction.
func clockLength(s string) int {
	n := shortClockLength(s)
	if n == 0 || n+2 >= len(s) || s[n] != ':' || digitsLength(s[n+1:]) != 2 {
		return 0
	}
	n += 3
	if n+1 < len(s) && (s[n] == '.' || s[n] == ',') && isDigit(s[n+1]) {
		n += 1 + digitsLength(s[n+1:])
	}
	return n
}

// shortClockLength reads 10:00.
func shortClockLength(s string) int {
	h := digitsLength(s)
	if h == 0 || h > 2 || h >= len(s) || s[h] != ':' || digitsLength(s[h+1:]) != 2 {
		return 0
	}
	return h + 3
}

// zoneLength reads Z, +02:00, " +0000", " GMT", " UTC", " AM", " CET".
func zoneLength(s string) int {
	n := 0
	for _, half := range []string{" AM", " PM", " am", " pm", "AM", "PM"} {
		if strings.HasPrefix(s, half) {
			n = len(half)
			break
		}
	}
	rest := s[n:]
	if strings.HasPrefix(rest, "Z") && ends(rest[1:]) {
		return n + 1
	}
	blank := 0
	if strings.HasPrefix(rest, " ") {
		blank = 1
	}
	rest = rest[blank:]
	for _, zone := range []string{"UTC", "GMT", "CEST", "CET", "EST", "EDT", "PST", "PDT", "CST", "MST"} {
		if strings.HasPrefix(rest, zone) && ends(rest[len(zone):]) {
			return n + blank + len(zone)
		}
	}
	if len(rest) >= 5 && (rest[0] == '+' || rest[0] == '-') && digitsLength(rest[1:]) >= 2 {
		d := digitsLength(rest[1:])
		if d == 4 {
			return n + blank + 5
		}
		if d == 2 && rest[3] == ':' && digitsLength(rest[4:]) == 2 {
			return n + blank + 6
		}
	}
	return n
}

// months are the English names, by which dates are recognised.
var months = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}

// monthLength reads Jan, Sept, November.
func monthLength(s string) int {
	w := 0
	for w < len(s) && isLetter(s[w]) {
		w++
	}
	if w < 3 {
		return 0
	}
	for _, m := range months {
		if w <= len(m) && strings.EqualFold(s[:w], m[:w]) && (w == 3 || w == 4 || w == len(m)) {
			return w
		}
	}
	return 0
}

// monthDateLength reads dates that begin with a name: Mon, 21 Nov 2026 10:00:00 GMT; Sat Nov 21 10:00:00 2026;
// November 21, 2026 3:04 PM.
func monthDateLength(s string) int {
	day := weekdayLength(s)
	rest := s[day:]
	if day > 0 {
		if n := dayLength(rest); n > 0 {
			return day + n + afterDay(rest[n:])
		}
	}
	m := monthLength(rest)
	if m == 0 {
		return 0
	}
	n := m
	for n < len(rest) && rest[n] == ' ' && n-m < 2 {
		n++
	}
	d := digitsLength(rest[n:])
	if n == m || d == 0 || d > 2 {
		return 0
	}
	n += d
	if l := yearAndClock(rest[n:]); l > 0 {
		return day + n + l
	}
	if day > 0 {
		return day + n
	}
	return 0
}

// yearAndClock reads what follows a month and a day: ", 2026 3:04 PM" or " 10:00:00 2026".
func yearAndClock(s string) int {
	n := 0
	for n < len(s) && (s[n] == ' ' || s[n] == ',') && n < 2 {
		n++
	}
	if n == 0 {
		return 0
	}
	if y := digitsLength(s[n:]); y == 4 {
		return n + 4 + afterDay(s[n+4:])
	}
	c := clockLength(s[n:])
	if c == 0 {
		return 0
	}
	n += c
	n += zoneLength(s[n:])
	if n+5 <= len(s) && s[n] == ' ' && digitsLength(s[n+1:]) == 4 {
		n += 5
	}
	return n
}

// weekdayLength reads "Mon, " or "Monday ".
func weekdayLength(s string) int {
	w := 0
	for w < len(s) && isLetter(s[w]) {
		w++
	}
	if w < 3 {
		return 0
	}
	for _, d := range []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"} {
		if (w == 3 || w == len(d)) && w <= len(d) && s[:w] == d[:w] {
			if strings.HasPrefix(s[w:], ", ") {
				return w + 2
			}
			if strings.HasPrefix(s[w:], " ") {
				return w + 1
			}
		}
	}
	return 0
}
