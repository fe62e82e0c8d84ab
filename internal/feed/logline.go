package feed

import (
	"bytes"
	"strings"
	"time"
)

// layouts are the times that common log formats begin a line with, the most specific first.
// A layout without a zone is read in the location asked for; one without a year gets the latest
// year that does not put it in the future.
var layouts = []struct {
	layout string
	noYear bool
}{
	{layout: "2006-01-02T15:04:05.999999999Z07:00"},
	{layout: "2006-01-02 15:04:05,000"},         // log4j, Python logging
	{layout: "2006-01-02 15:04:05.999999999"},   // Go, PostgreSQL
	{layout: "2006-01-02T15:04:05.999999999"},   // ISO without zone
	{layout: "2006/01/02 15:04:05.999999999"},   // Go log, nginx error
	{layout: "Mon Jan _2 15:04:05 2006"},        // Apache error, ctime
	{layout: "Mon Jan _2 15:04:05.000000 2006"}, // Apache 2.4 error
	{layout: "02/Jan/2006:15:04:05 -0700"},      // access logs
	{layout: "06/01/02 15:04:05"},               // Spark
	{layout: "060102 150405"},                   // HDFS
	{layout: "Jan _2 15:04:05", noYear: true},   // syslog
}

// lineTime finds the time at the start of a line, behind at most one opening bracket or after a
// client address as in access logs. ok is false when there is none.
func lineTime(line string, loc *time.Location, now time.Time) (t time.Time, ok bool) {
	head := strings.TrimLeft(line, "[ ")
	if open := strings.IndexByte(line, '['); open > 0 && open < 80 {
		if t, ok := parseHead(line[open+1:], loc, now); ok {
			return t, true
		}
	}
	return parseHead(head, loc, now)
}

func parseHead(s string, loc *time.Location, now time.Time) (time.Time, bool) {
	for _, l := range layouts {
		for _, end := range cuts(s, len(l.layout)) {
			t, err := time.ParseInLocation(l.layout, s[:end], loc)
			if err != nil {
				continue
			}
			if l.noYear {
				t = latestYear(t, now)
			}
			if t.Year() < 1970 || t.Year() > 2200 {
				continue
			}
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// cuts lists the places where a time of about n characters may end: at a blank or a bracket.
func cuts(s string, n int) []int {
	var ends []int
	limit := min(len(s), n+8)
	for i := max(n-16, 8); i <= limit; i++ {
		if i == len(s) || strings.IndexByte(" ]\t-:", s[i]) >= 0 {
			ends = append(ends, i)
		}
	}
	return ends
}

func latestYear(t, now time.Time) time.Time {
	withYear := t.AddDate(now.Year(), 0, 0)
	if withYear.After(now.Add(24 * time.Hour)) {
		withYear = t.AddDate(now.Year()-1, 0, 0)
	}
	return withYear
}

// levels maps the words that loggers print to the level put into the event.
var levels = []struct{ word, level string }{
	{"FATAL", "fatal"}, {"EMERG", "fatal"}, {"CRITICAL", "fatal"}, {"PANIC", "fatal"},
	{"ERROR", "error"}, {"SEVERE", "error"}, {"ERR", "error"},
	{"WARNING", "warn"}, {"WARN", "warn"},
	{"NOTICE", "info"}, {"INFO", "info"},
	{"DEBUG", "debug"}, {"TRACE", "trace"},
}

// lineLevel finds a level as a word of its own near the start of the line: upper case anywhere
// there, or lower case in brackets ("[error]"). "" when there is none.
func lineLevel(line string) string {
	head := line[:min(len(line), 120)]
	for _, l := range levels {
		if hasWord(head, l.word) || strings.Contains(head, "["+strings.ToLower(l.word)+"]") {
			return l.level
		}
	}
	return ""
}

func hasWord(s, word string) bool {
	for from := 0; ; {
		i := strings.Index(s[from:], word)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(word)
		if (i == 0 || !isLetter(s[i-1])) && (end == len(s) || !isLetter(s[end])) {
			return true
		}
		from = end
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isEvent tells an NDJSON event from a plain log line.
func isEvent(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	return len(line) > 0 && line[0] == '{' && bytes.Contains(line, []byte(`"type"`))
}
