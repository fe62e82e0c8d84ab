package httpapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
)

// Problem is an RFC 9457 problem document. With only Code set, WriteProblem
// fills in type, title and status from the table.
type Problem struct {
	Type       string         `json:"type"`
	Title      string         `json:"title"`
	Status     int            `json:"status"`
	Detail     string         `json:"detail,omitempty"` // what happened and what to do next; never a secret
	Code       Code           `json:"code"`
	RequestID  string         `json:"request_id,omitempty"`
	Params     []ParamProblem `json:"errors,omitempty"`
	RetryAfter time.Duration  `json:"-"` // > 0: sent as Retry-After, whole seconds, rounded up
}

// ParamProblem names one parameter or field and what is wrong with it.
type ParamProblem struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Error is an error that says how it is answered. Detail reaches the client;
// the wrapped cause reaches only the log.
type Error struct {
	Code       Code
	Detail     string
	Params     []ParamProblem
	RetryAfter time.Duration
	cause      error
}

// Errorf makes an Error whose formatted text is shown to the client, so it must hold no secret
// and no inner detail.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// NotFound says that there is no such thing, in the same words whether it
// never was or belongs to another project.
func NotFound(what string) *Error { return Errorf(CodeNotFound, "no such %s", what) }

// ParamErrors is the 400 that names each bad parameter.
func ParamErrors(problems ...ParamProblem) *Error {
	e := &Error{Code: CodeInvalidParameter, Params: problems}
	for i, p := range problems {
		if i > 0 {
			e.Detail += "; "
		}
		e.Detail += p.Name + ": " + p.Reason
	}
	return e
}

// Because returns e with the cause for the log. The cause is never sent to the client.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// After returns e with a Retry-After.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// ProblemOf turns any error into what the client may see. An *Error anywhere
// in the chain decides; otherwise it is a 500 whose inner text stays inside.
func ProblemOf(err error) Problem {
	var e *Error
	switch {
	case errors.As(err, &e):
		return Problem{Code: e.Code, Detail: e.Detail, Params: e.Params, RetryAfter: e.RetryAfter}
	case errors.Is(err, context.Canceled):
		return Problem{Code: CodeCanceled}
	case errors.Is(err, context.DeadlineExceeded):
		return Problem{Code: CodeUnavailable, Detail: "it took too long; retry", RetryAfter: time.Second}
	}
	return Problem{Code: CodeInternal, Detail: "the request id finds this in the log"}
}

// WriteError answers with the problem err stands for and keeps err for the request's log line.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	if s := stateFrom(r.Context()); s != nil {
		s.err = err
	}
	WriteProblem(w, ProblemOf(err))
}

// WriteProblem answers with a problem document. Headers already set are kept;
// 401 gets WWW-Authenticate. It must be the only write of the response.
func WriteProblem(w http.ResponseWriter, p Problem) {
	h := w.Header()
	p = p.complete(h.Get(HeaderRequestID))
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="weir"`)
	}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.RetryAfter.Seconds()))))
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Length")
	w.WriteHeader(p.Status)
	body, err := encode(p)
	if err != nil { // only strings and numbers: cannot fail
		return
	}
	_, _ = w.Write(body)
}

func (p Problem) complete(requestID string) Problem {
	if p.Code == "" {
		p.Code = CodeInternal
	}
	k := kindOf(p.Code)
	if p.Status == 0 {
		p.Status = k.status
	}
	if p.Title == "" {
		p.Title = k.title
	}
	if p.Type == "" {
		p.Type = "urn:weir:problem:" + string(p.Code)
	}
	if p.RequestID == "" {
		p.RequestID = requestID
	}
	return p
}

// NotFoundHandler and MethodNotAllowedHandler answer what no route takes, as problems.
func NotFoundHandler(w http.ResponseWriter, r *http.Request) {
	WriteError(w, r, Errorf(CodeNotFound, "no such path"))
}

// MethodNotAllowedHandler answers a method the route does not take, and says in Allow which it takes.
func MethodNotAllowedHandler(w http.ResponseWriter, r *http.Request) {
	if allowed := allowedMethods(r); allowed != "" {
		w.Header().Set("Allow", allowed)
	}
	WriteError(w, r, Errorf(CodeMethodNotAllowed, "the path does not take this method"))
}

// allowedMethods asks the router; "" when there is none.
func allowedMethods(r *http.Request) string {
	c := chi.RouteContext(r.Context())
	if c == nil || c.Routes == nil {
		return ""
	}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if c.Routes.Match(chi.NewRouteContext(), method, r.URL.Path) {
			allowed = append(allowed, method)
		}
	}
	return strings.Join(allowed, ", ")
}
