package readmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
	"weir/schemas"
)

// params are a request's query parameters, with every problem gathered.
type params struct {
	*httpapi.Params
	values url.Values
}

// parseParams refuses what httpapi.Params would overlook: a query string that
// is not well-formed, text that is not UTF-8, and names the endpoint does not
// know, because a filter with a typing error must not silently match everything.
func parseParams(r *http.Request, known ...string) (*params, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, httpapi.ParamErrors(httpapi.ParamProblem{Name: "query", Reason: "not a well-formed query string: percent-encode the values"})
	}
	var problems []httpapi.ParamProblem
	for name, all := range values {
		switch {
		case !slices.Contains(known, name):
			problems = append(problems, httpapi.ParamProblem{Name: short(name), Reason: "unknown parameter: this endpoint has " + strings.Join(known, ", ")})
		case !utf8.ValidString(strings.Join(all, "")):
			problems = append(problems, httpapi.ParamProblem{Name: name, Reason: "must be valid UTF-8"})
		}
	}
	if problems != nil {
		slices.SortFunc(problems, func(a, b httpapi.ParamProblem) int { return strings.Compare(a.Name, b.Name) })
		return nil, httpapi.ParamErrors(problems...)
	}
	return &params{httpapi.NewParams(values), values}, nil
}

// err is nil or the 400 that names each bad parameter, its value and what is allowed.
func (p *params) err() error {
	var bad *httpapi.Error
	if !errors.As(p.Err(), &bad) {
		return nil
	}
	problems := slices.Clone(bad.Params)
	for i, one := range problems {
		if v := p.values.Get(one.Name); v != "" {
			problems[i].Reason += fmt.Sprintf("; got %q", short(v))
		}
	}
	return httpapi.ParamErrors(problems...)
}

// short cuts what a client sent to a size fit for an answer.
func short(s string) string {
	const most = 100
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// interval is a span of time: From inside, To outside; zero is open.
type interval struct{ From, To time.Time }

func (p *params) interval(from, to string) interval {
	v := interval{p.Time(from), p.Time(to)}
	if !v.From.IsZero() && !v.To.IsZero() && !v.From.Before(v.To) {
		p.Bad(to, "must be later than "+from)
	}
	return v
}

// types reads a comma-separated list of event types.
func (p *params) types(name string) []string {
	allowed := make([]string, 0, len(schemas.Types()))
	for _, t := range schemas.Types() {
		allowed = append(allowed, t.String())
	}
	list := p.List(name, allowed...)
	slices.Sort(list)
	return slices.Compact(list)
}

func (p *params) filters(name string) []Filter {
	given := p.values[name]
	if len(given) > maxFilters {
		p.Bad(name, fmt.Sprintf("at most %d filters", maxFilters))
		return nil
	}
	filters := make([]Filter, 0, len(given))
	for _, s := range given {
		f, err := ParseFilter(s)
		if err != nil {
			p.Bad(name, fmt.Sprintf("filter %q: %v", short(s), err))
			return nil
		}
		filters = append(filters, f)
	}
	return filters
}

// project is the project a list is about.
func (rd *Reader) project(r *http.Request) (string, error) {
	id, err := httpapi.ProjectFrom(r)
	if err == nil && rd.cfg.Projects != nil && !rd.cfg.Projects(id) {
		err = httpapi.NotFound("project")
	}
	return id, err
}

// walls is the project that a resource named by its id must belong to: the
// key's own, or the one named; "" lets the admin look in every project.
func (rd *Reader) walls(r *http.Request) (string, error) {
	if httpapi.PrincipalFrom(r.Context()).Admin && r.URL.Query().Get("project_id") == "" {
		return "", nil
	}
	return rd.project(r)
}

func with(names []string, more ...string) []string { return slices.Concat(names, more) }

// listName names a list together with its filters, so that a cursor taken
// with other filters is refused instead of giving a wrong page.
func listName(list string, filters any) string {
	text, _ := json.Marshal(filters) // plain structs always encode
	h := fnv.New64a()
	_, _ = h.Write(text)
	return fmt.Sprintf("%s/%x", list, h.Sum64())
}

// pathValue is a path parameter, unescaped; "" when it is not valid text.
func pathValue(r *http.Request, name string) string {
	v := chi.URLParam(r, name)
	if r.URL.RawPath != "" { // chi matched the escaped path
		v, _ = url.PathUnescape(v)
	}
	if !utf8.ValidString(v) {
		return ""
	}
	return v
}
