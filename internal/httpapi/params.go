package httpapi

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Params reads query parameters and gathers everything that is wrong with
// them, so that one 400 names all. Each getter returns the default when the
// parameter is absent or bad; look at Err before using any value.
type Params struct {
	values   url.Values
	problems []ParamProblem
}

// NewParams reads from q, usually r.URL.Query().
func NewParams(q url.Values) *Params { return &Params{values: q} }

// Err is nil or the 400 that names every bad parameter.
func (p *Params) Err() error {
	if len(p.problems) == 0 {
		return nil
	}
	return ParamErrors(p.problems...)
}

// Bad notes that a parameter is wrong; the reason is shown to the client.
func (p *Params) Bad(name, reason string) {
	p.problems = append(p.problems, ParamProblem{name, reason})
}

func (p *Params) one(name string) (string, bool) {
	v := p.values[name]
	if len(v) > 1 {
		p.Bad(name, "given twice")
		return "", false
	}
	return p.values.Get(name), len(v) == 1 && v[0] != ""
}

// String returns a parameter of at most max bytes, "" when absent.
func (p *Params) String(name string, max int) string {
	v, ok := p.one(name)
	if !ok {
		return ""
	}
	if len(v) > max {
		p.Bad(name, fmt.Sprintf("must be at most %d bytes", max))
		return ""
	}
	return v
}

// Required is String, and absence is a problem.
func (p *Params) Required(name string, max int) string {
	if !p.values.Has(name) || p.values.Get(name) == "" {
		p.Bad(name, "required")
		return ""
	}
	return p.String(name, max)
}

// Enum returns one of allowed, the default def when absent.
func (p *Params) Enum(name, def string, allowed ...string) string {
	v, ok := p.one(name)
	if !ok {
		return def
	}
	if !slices.Contains(allowed, v) {
		p.Bad(name, "must be one of "+strings.Join(allowed, ", "))
		return def
	}
	return v
}

// List returns the comma-separated values of a parameter, each one of allowed (any when allowed is
// empty), nil when absent.
func (p *Params) List(name string, allowed ...string) []string {
	v, ok := p.one(name)
	if !ok {
		return nil
	}
	items := strings.Split(v, ",")
	for _, item := range items {
		if item == "" || (len(allowed) > 0 && !slices.Contains(allowed, item)) {
			p.Bad(name, "must be a comma-separated list of "+strings.Join(allowed, ", "))
			return nil
		}
	}
	return items
}

// Int returns an integer between min and max, both allowed; def when absent.
func (p *Params) Int(name string, def, min, max int) int {
	v, ok := p.one(name)
	if !ok {
		return def
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < min || n > max {
		p.Bad(name, fmt.Sprintf("must be a whole number from %d to %d", min, max))
		return def
	}
	return n
}

// Limit returns the page size.
func (p *Params) Limit() int { return p.Int("limit", DefaultLimit, 1, MaxLimit) }

// Time returns an RFC 3339 time in UTC, the zero time when absent.
func (p *Params) Time(name string) time.Time {
	v, ok := p.one(name)
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, v)
	if err != nil || t.Year() < 1970 || t.Year() > 2200 {
		p.Bad(name, "must be an RFC 3339 time, years 1970 to 2200")
		return time.Time{}
	}
	return t.UTC()
}

// Cursor reads the parameter cursor of that list into v and says whether there was one.
func (p *Params) Cursor(list string, v any) bool {
	s, ok := p.one("cursor")
	if !ok {
		return false
	}
	if err := DecodeCursor(list, s, v); err != nil {
		p.Bad("cursor", "not a cursor of this list: take next_cursor as it was given")
		return false
	}
	return true
}
