package schemas

import (
	"errors"
	"time"
)

// The years a timestamp may have. They fit ClickHouse's DateTime64(9), so no
// accepted timestamp can hurt a read model.
const (
	minYear = 1970
	maxYear = 2200
)

// timeVerdict is what became of a timestamp.
type timeVerdict uint8

const (
	timeOK timeVerdict = iota
	timeMalformed
	timeOutOfRange // a timestamp, but of another year
)

// Errors of ParseTime.
var (
	ErrTimeMalformed = errors.New("not an RFC 3339 timestamp in UTC (2026-11-20T09:30:00.123456789Z)")
	ErrTimeRange     = errors.New("timestamp outside the years 1970 to 2200")
)

// ParseTime reads a timestamp: RFC 3339 with Z or +00:00, the T and Z in either
// case, up to nine fraction digits, years 1970 to 2200. Leap seconds (:60) have
// no place in Unix time and are malformed. text is the decoded string.
func ParseTime(text []byte) (time.Time, error) {
	sec, nsec, verdict := parseTimestamp(text)
	switch verdict {
	case timeMalformed:
		return time.Time{}, ErrTimeMalformed
	case timeOutOfRange:
		return time.Time{}, ErrTimeRange
	default:
		return time.Unix(sec, int64(nsec)).UTC(), nil
	}
}

// parseTimestamp reads seconds and nanoseconds since 1970.
func parseTimestamp(b []byte) (sec int64, nsec int32, verdict timeVerdict) {
	const shape = "2006-01-02T15:04:05Z"
	if len(b) < len(shape) || b[4] != '-' || b[7] != '-' || b[10]|0x20 != 't' || b[13] != ':' || b[16] != ':' {
		return 0, 0, timeMalformed
	}
	bad := false
	year := two(b[0], b[1], &bad)*100 + two(b[2], b[3], &bad)
	month, day := two(b[5], b[6], &bad), two(b[8], b[9], &bad)
	hour, minute, second := two(b[11], b[12], &bad), two(b[14], b[15], &bad), two(b[17], b[18], &bad)
	nsec, zone := fraction(b[19:])
	if bad || month-1 > 11 || day-1 >= daysIn(year, month) || hour > 23 || minute > 59 || second > 59 || !isUTC(zone) {
		return 0, 0, timeMalformed
	}
	if year < minYear || year > maxYear {
		return 0, 0, timeOutOfRange
	}
	days := int64(daysBefore(year, month) + day - 1)
	return ((days*24+int64(hour))*60+int64(minute))*60 + int64(second), nsec, timeOK
}

// two reads two digits.
func two(tens, units byte, bad *bool) uint32 {
	t, u := tens-'0', units-'0'
	if t > 9 || u > 9 {
		*bad = true
	}
	return uint32(t)*10 + uint32(u)
}

// fraction reads a point and one to nine digits, if there is a point, and
// returns what follows; nil when malformed.
func fraction(b []byte) (nsec int32, rest []byte) {
	if b[0] != '.' {
		return 0, b
	}
	i, unit := 1, int32(100_000_000)
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		if i > 9 {
			return 0, nil
		}
		nsec += int32(b[i]-'0') * unit
		unit /= 10
	}
	if i == 1 {
		return 0, nil
	}
	return nsec, b[i:]
}

func isUTC(zone []byte) bool {
	return len(zone) == 1 && zone[0]|0x20 == 'z' || string(zone) == "+00:00"
}

func isLeap(year uint32) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

// daysIn returns the length of a month; month is 1 to 12.
func daysIn(year, month uint32) uint32 {
	if month == 2 && isLeap(year) {
		return 29
	}
	return uint32("\x1f\x1c\x1f\x1e\x1f\x1e\x1f\x1f\x1e\x1f\x1e\x1f"[month-1])
}

// monthStarts are the days of a common year before each month.
var monthStarts = [12]uint32{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334}

// daysBefore counts the days from 1970-01-01 to the first of a month, years
// 1970 and later.
func daysBefore(year, month uint32) uint32 {
	before := year - 1
	leaps := before/4 - before/100 + before/400 - (1969/4 - 1969/100 + 1969/400)
	days := (year-minYear)*365 + leaps + monthStarts[month-1]
	if month > 2 && isLeap(year) {
		days++
	}
	return days
}
