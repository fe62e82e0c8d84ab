package control

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
)

const endpointList = "endpoints"

// EndpointOptions are what the endpoint routes need from the webhook lane.
type EndpointOptions struct {
	// CheckURL refuses targets that the lane would not send to. Its errors are shown to clients.
	CheckURL func(*url.URL) error

	// Rotated returns when no attempt that began before this version is under way
	// in this process, or with ctx. Nil does not wait.
	Rotated func(ctx context.Context, id string, version int)
}

type endpointRoutes struct {
	*Commands
	opts EndpointOptions
}

// EndpointRoutes adds the endpoints' endpoints:
//
//	POST   /api/webhooks/endpoints              a key with manage
//	GET    /api/webhooks/endpoints              a key with read
//	PATCH  /api/webhooks/endpoints/{id}         a key with manage
//	DELETE /api/webhooks/endpoints/{id}         a key with manage
//	POST   /api/webhooks/endpoints/{id}/rotate  a key with manage
//
// The admin may do all of it. An endpoint of another project is a 404.
func (c *Commands) EndpointRoutes(r chi.Router, opts EndpointOptions) {
	if opts.CheckURL == nil {
		opts.CheckURL = func(*url.URL) error { return nil }
	}
	e := &endpointRoutes{c, opts}
	r.With(httpapi.RequireScope(c.dir, httpapi.ScopeRead)).Get("/api/webhooks/endpoints", answer(e.list))
	manage := r.With(httpapi.RequireScope(c.dir, httpapi.ScopeManage))
	manage.Post("/api/webhooks/endpoints", answer(e.post))
	own := manage.With(c.ownEndpoint)
	own.Patch("/api/webhooks/endpoints/{id}", answer(e.patch))
	own.Delete("/api/webhooks/endpoints/{id}", answer(e.delete))
	own.Post("/api/webhooks/endpoints/{id}/rotate", answer(e.rotate))
}

// ownEndpoint answers 404 for an endpoint that does not exist for the caller.
func (c *Commands) ownEndpoint(next http.Handler) http.Handler {
	return answer(func(w http.ResponseWriter, r *http.Request) error {
		x, exists := c.dir.Endpoint(chi.URLParam(r, "id"))
		if !exists || !httpapi.PrincipalFrom(r.Context()).Owns(x.ProjectID) {
			return httpapi.NotFound("endpoint")
		}
		next.ServeHTTP(w, r)
		return nil
	})
}

// member is one member of a request: absent, null or a value.
type member[T any] struct {
	given, null, bad bool
	value            T
}

// UnmarshalJSON never fails; see bad.
func (m *member[T]) UnmarshalJSON(b []byte) error {
	m.given, m.null = true, bytes.Equal(b, []byte("null"))
	if !m.null {
		m.bad = json.Unmarshal(b, &m.value) != nil
	}
	return nil
}

// endpointBody is the body of POST and PATCH.
type endpointBody struct {
	ProjectID string                    `json:"project_id"`
	URL       *string                   `json:"url"`
	Kind      string                    `json:"kind"`
	Events    *[]string                 `json:"events"`
	Headers   member[map[string]string] `json:"headers"`
	Rate      member[float64]           `json:"rate_per_second"`
	Schedule  member[[]int64]           `json:"schedule"`
	Status    string                    `json:"status"`
}

func (b endpointBody) spec() (EndpointSpec, error) {
	s := EndpointSpec{Kind: b.Kind, URL: b.URL, Status: b.Status}
	var problems []httpapi.ParamProblem
	for name, bad := range map[string]string{"headers": "must be an object of strings", "rate_per_second": "must be a number", "schedule": "must be an array of whole seconds"} {
		if (name == "headers" && b.Headers.bad) || (name == "rate_per_second" && b.Rate.bad) || (name == "schedule" && b.Schedule.bad) {
			problems = append(problems, httpapi.ParamProblem{Name: name, Reason: bad})
		}
	}
	if b.Events != nil {
		if s.Events = *b.Events; len(s.Events) == 0 {
			problems = append(problems, httpapi.ParamProblem{Name: "events", Reason: "must name at least one pattern; * takes all"})
		}
	}
	if b.Headers.given {
		s.Headers = &b.Headers.value
	}
	if b.Rate.given {
		s.Rate = &b.Rate.value
	}
	if b.Schedule.given {
		s.Schedule = &b.Schedule.value
	}
	return s, httpapi.FieldErrors(problems...)
}

// endpointWithSecret is the answer of create and rotate: the only ones that show it.
type endpointWithSecret struct {
	Endpoint
	Secret string `json:"secret"`
}

func (e *endpointRoutes) post(w http.ResponseWriter, r *http.Request) error {
	var in endpointBody
	if err := httpapi.DecodeJSON(w, r, maxEndpointIn, &in); err != nil {
		return err
	}
	project, err := e.projectOf(r, in.ProjectID)
	if err != nil {
		return err
	}
	spec, err := in.spec()
	if err != nil {
		return err
	}
	if spec.Kind == "" {
		spec.Kind = KindHTTP
	}
	if spec.Events == nil {
		spec.Events = []string{"*"}
	}
	if err := specForNew(&spec, e.opts.CheckURL); err != nil {
		return err
	}
	made, err := e.CreateEndpoint(r.Context(), httpapi.PrincipalFrom(r.Context()), project, spec)
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusCreated, endpointWithSecret{made.Endpoint, made.Secret.Reveal()})
	return nil
}

// specForNew checks a spec and what only a new endpoint needs.
func specForNew(s *EndpointSpec, checkURL func(*url.URL) error) error {
	problem := ""
	switch {
	case s.Kind == KindInternal && s.URL != nil:
		problem = "an internal endpoint has none"
	case s.Kind != KindInternal && (s.URL == nil || *s.URL == ""):
		problem = "required"
	}
	if problem != "" {
		return httpapi.FieldErrors(httpapi.ParamProblem{Name: "url", Reason: problem})
	}
	if s.Status == EndpointDisabled {
		return httpapi.FieldErrors(httpapi.ParamProblem{Name: "status", Reason: "a new endpoint is enabled; disable it with PATCH"})
	}
	return s.check(checkURL)
}

// projectOf is the key's own project, or the one the admin names.
func (e *endpointRoutes) projectOf(r *http.Request, named string) (string, error) {
	p := httpapi.PrincipalFrom(r.Context())
	if named == "" {
		named = p.ProjectID
	}
	if named == "" {
		return "", httpapi.FieldErrors(httpapi.ParamProblem{Name: "project_id", Reason: "required"})
	}
	if _, exists := e.dir.Project(named); !exists || !p.Owns(named) {
		return "", httpapi.NotFound("project")
	}
	return named, nil
}

func (e *endpointRoutes) list(w http.ResponseWriter, r *http.Request) error {
	project, err := httpapi.ProjectFrom(r)
	if err != nil {
		return err
	}
	limit, after, err := pageOf(r, endpointList)
	if err != nil {
		return err
	}
	if _, exists := e.dir.Project(project); !exists {
		return httpapi.NotFound("project")
	}
	endpoints, ok := e.dir.Endpoints(project, after, limit+1)
	if !ok {
		return badCursor()
	}
	return writePage(w, endpointList, limit, endpoints, func(x Endpoint) string { return x.ID })
}

func (e *endpointRoutes) patch(w http.ResponseWriter, r *http.Request) error {
	var in endpointBody
	if err := httpapi.DecodeJSON(w, r, maxEndpointIn, &in); err != nil {
		return err
	}
	for name, given := range map[string]bool{"project_id": in.ProjectID != "", "kind": in.Kind != ""} {
		if given {
			return httpapi.FieldErrors(httpapi.ParamProblem{Name: name, Reason: "cannot be changed; make another endpoint"})
		}
	}
	spec, err := in.spec()
	if err == nil {
		err = spec.check(e.opts.CheckURL)
	}
	if err != nil {
		return err
	}
	x, err := e.ChangeEndpoint(r.Context(), httpapi.PrincipalFrom(r.Context()), chi.URLParam(r, "id"), spec)
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusOK, x)
	return nil
}

func (e *endpointRoutes) delete(w http.ResponseWriter, r *http.Request) error {
	if err := e.DeleteEndpoint(r.Context(), httpapi.PrincipalFrom(r.Context()), chi.URLParam(r, "id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// rotate answers with the new secret once every attempt that was signed without it
// has ended here, so that a receiver can take it up at once.
func (e *endpointRoutes) rotate(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Overlap member[int64] `json:"overlap_seconds"`
	}
	if r.ContentLength != 0 {
		if err := httpapi.DecodeJSON(w, r, maxBody, &in); err != nil {
			return err
		}
	}
	overlap := defaultOverlap
	if in.Overlap.given && !in.Overlap.null {
		overlap = time.Duration(in.Overlap.value) * time.Second
		if in.Overlap.bad || in.Overlap.value < 0 || overlap > longestOverlap {
			return httpapi.FieldErrors(httpapi.ParamProblem{Name: "overlap_seconds", Reason: "must be a whole number from 0 to 604800"})
		}
	}
	made, err := e.RotateEndpoint(r.Context(), httpapi.PrincipalFrom(r.Context()), chi.URLParam(r, "id"), overlap)
	if err != nil {
		return err
	}
	if e.opts.Rotated != nil {
		e.opts.Rotated(r.Context(), made.Endpoint.ID, made.Endpoint.Version)
	}
	httpapi.WriteJSON(w, http.StatusOK, endpointWithSecret{made.Endpoint, made.Secret.Reveal()})
	return nil
}
