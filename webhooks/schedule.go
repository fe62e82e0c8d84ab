package webhooks

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// defaultSchedule are the pauses before each retry: ten attempts over three days.
var defaultSchedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	// jitter lengthens a pause by up to this part, so that what failed together is
	// not tried again together. It never shortens one.
	jitter = 0.1

	// longestRetryAfter bounds what a receiver may ask for.
	longestRetryAfter = 24 * time.Hour
)

// pauseBefore is the pause after attempt number of a schedule that began with
// first; false when there are no more.
func pauseBefore(schedule []time.Duration, number, first int) (time.Duration, bool) {
	if len(schedule) == 0 {
		schedule = defaultSchedule
	}
	if i := number - first; i < len(schedule) {
		return schedule[i] + time.Duration(rand.Float64()*jitter*float64(schedule[i])), true
	}
	return 0, false
}

// retryAfter reads what a 429 or 503 asks for: seconds or a date, at most a day. It
// only ever lengthens the schedule's pause.
func retryAfter(status int, h http.Header, now time.Time) time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0
	}
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, longestRetryAfter)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), longestRetryAfter)
	}
	return 0
}
