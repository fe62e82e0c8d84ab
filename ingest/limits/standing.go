package limits

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// Standing is where a project stands with its limits at one moment.
type Standing struct {
	Rates   Rates
	Events  float64 // tokens left; negative: a debt
	Batches float64 // tokens left

	// RetryAfter is zero when the request passes, else how long until one can.
	RetryAfter time.Duration
}

// Passes says whether the request may go on.
func (s Standing) Passes() bool { return s.RetryAfter == 0 }

// Reason names the limit that refuses, for the client.
func (s Standing) Reason() string {
	if s.Rates.BatchesPerSecond > 0 && s.Batches < 1 {
		return strconv.Itoa(s.Rates.BatchesPerSecond) + " batches per second"
	}
	return strconv.Itoa(s.Rates.EventsPerSecond) + " events per second"
}

// WriteHeaders sets RateLimit-Policy and RateLimit
// (draft-ietf-httpapi-ratelimit-headers): q the quota, w its window in
// seconds, r what is left of it, t the seconds until it is whole again. A rate
// that is off has no entry.
func (s Standing) WriteHeaders(h http.Header) {
	if s.Rates.Off() {
		return
	}
	var space [2][96]byte
	policy, now := space[0][:0], space[1][:0]
	if q := s.Rates.EventsPerSecond; q > 0 {
		policy = appendPolicy(policy, "events", q)
		now = appendStanding(now, "events", q, s.Events)
	}
	if q := s.Rates.BatchesPerSecond; q > 0 {
		policy = appendPolicy(policy, "batches", q)
		now = appendStanding(now, "batches", q, s.Batches)
	}
	// Spelled as drafted: http.Header would make it Ratelimit, and some clients compare by case.
	h["RateLimit-Policy"] = []string{string(policy)}
	h["RateLimit"] = []string{string(now)}
}

func appendPolicy(b []byte, name string, quota int) []byte {
	b = appendItem(b, name, ";q=", quota)
	return append(b, ";w=1"...)
}

func appendStanding(b []byte, name string, quota int, level float64) []byte {
	b = appendItem(b, name, ";r=", int(math.Max(0, math.Floor(level))))
	b = append(b, ";t="...)
	return strconv.AppendInt(b, int64(math.Ceil((float64(quota)-level)/float64(quota))), 10)
}

func appendItem(b []byte, name, key string, n int) []byte {
	if len(b) > 0 {
		b = append(b, ", "...)
	}
	b = append(append(append(b, '"'), name...), '"')
	return strconv.AppendInt(append(b, key...), int64(n), 10)
}
