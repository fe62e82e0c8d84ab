package control

import (
	"fmt"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"weir/internal/httpapi"
)

// Bounds of an endpoint's fields.
const (
	maxURL        = 2048
	maxPatterns   = 50
	maxHeaders    = 20
	maxHeader     = 4096
	maxRate       = 10_000
	maxRetries    = 20
	longestPause  = 48 * 60 * 60 // seconds
	maxEndpointIn = 128 << 10    // bytes of a request
)

var (
	patternShape = regexp.MustCompile(`^(\*|[a-z0-9_]+(\.[a-z0-9_]+)*(\.\*)?)$`)
	headerShape  = regexp.MustCompile(`^[A-Za-z0-9!#$%&'*+.^_|~-]{1,128}$`)
)

// reservedHeaders are the lane's own, or the connection's.
var reservedHeaders = []string{"Host", "Content-Length", "Content-Type", "Content-Encoding", "Transfer-Encoding", "Connection",
	"Keep-Alive", "Te", "Trailer", "Upgrade", "Expect", "User-Agent", "Accept-Encoding", "Proxy-Connection", "Proxy-Authorization",
	"Idempotency-Key", "X-Idempotency-Key"} // with these Go would repeat a request by itself

// check finds everything wrong with a spec. checkURL judges targets.
func (s EndpointSpec) check(checkURL func(*url.URL) error) error {
	var problems []httpapi.ParamProblem
	bad := func(name, format string, args ...any) {
		problems = append(problems, httpapi.ParamProblem{Name: name, Reason: fmt.Sprintf(format, args...)})
	}
	if s.Kind != "" && !slices.Contains(Kinds(), s.Kind) {
		bad("kind", "must be one of %s", strings.Join(Kinds(), ", "))
	}
	if s.URL != nil {
		if reason := urlProblem(*s.URL, checkURL); reason != "" {
			bad("url", "%s", reason)
		}
	}
	if len(s.Events) > maxPatterns {
		bad("events", "must be at most %d patterns", maxPatterns)
	}
	for _, p := range s.Events {
		if len(p) > maxNameRunes || !patternShape.MatchString(p) {
			bad("events", "must be patterns like error.group.created, deploy.* or *")
			break
		}
	}
	if s.Headers != nil {
		if reason := headersProblem(*s.Headers); reason != "" {
			bad("headers", "%s", reason)
		}
	}
	if s.Rate != nil && (*s.Rate < 0 || *s.Rate > maxRate || *s.Rate > 0 && *s.Rate < 0.01) {
		bad("rate_per_second", "must be from 0.01 to %d, or null for no limit", maxRate)
	}
	if s.Schedule != nil {
		if len(*s.Schedule) > maxRetries || slices.ContainsFunc(*s.Schedule, func(n int64) bool { return n < 1 || n > longestPause }) {
			bad("schedule", "must be at most %d pauses of 1 to %d seconds, or null for the default", maxRetries, longestPause)
		}
	}
	if s.Status != "" && s.Status != EndpointEnabled && s.Status != EndpointDisabled {
		bad("status", "must be enabled or disabled")
	}
	return httpapi.FieldErrors(problems...)
}

func urlProblem(text string, checkURL func(*url.URL) error) string {
	u, err := url.Parse(text)
	switch {
	case len(text) > maxURL:
		return fmt.Sprintf("must be at most %d characters", maxURL)
	case err != nil || u.Opaque != "" || u.Host == "":
		return "must be a URL that begins with https:// or http://"
	case u.Fragment != "":
		return "must have no fragment"
	}
	if err := checkURL(u); err != nil {
		return err.Error()
	}
	return ""
}

func headersProblem(headers map[string]string) string {
	if len(headers) > maxHeaders {
		return fmt.Sprintf("must be at most %d", maxHeaders)
	}
	for name, value := range headers {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !headerShape.MatchString(name):
			return "must have names that HTTP allows"
		case slices.Contains(reservedHeaders, canonical) || strings.HasPrefix(canonical, "Webhook-"):
			return fmt.Sprintf("must not set %s", canonical)
		case len(value) > maxHeader || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return fmt.Sprintf("the value of %s must be at most %d characters without control characters", canonical, maxHeader)
		}
	}
	return ""
}
