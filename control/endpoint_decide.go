package control

import (
	"slices"
	"time"

	"weir/internal/httpapi"
)

// maxProjectEndpoints bounds what one project can put into every node's memory.
const maxProjectEndpoints = 20_000

type createEndpoint struct {
	project string
	made    endpointCreated
}

func (createEndpoint) name() string { return "create_endpoint" }

func (c createEndpoint) decide(s *state) ([]fact, error) {
	p, ok := s.projects[c.project]
	switch {
	case !ok:
		return nil, httpapi.NotFound("project")
	case s.endpoints[c.made.ID] != nil:
		return nil, drawnTwice()
	case len(p.endpoints) >= maxProjectEndpoints:
		return nil, httpapi.Errorf(httpapi.CodeConflict, "the project has %d endpoints, the most there can be: delete one first", maxProjectEndpoints)
	}
	return []fact{c.made}, nil
}

// changeEndpoint changes what it names; status is "" when it stays.
type changeEndpoint struct {
	id      string
	changed endpointChanged
	status  string
}

func (changeEndpoint) name() string { return "change_endpoint" }

func (c changeEndpoint) decide(s *state) ([]fact, error) {
	x, ok := s.endpoints[c.id]
	if !ok {
		return nil, httpapi.NotFound("endpoint")
	}
	if c.changed.URL != nil && x.kind == KindInternal {
		return nil, httpapi.FieldErrors(httpapi.ParamProblem{Name: "url", Reason: "an internal endpoint has none"})
	}
	if c.changed.URL != nil && x.kind != KindHTTP {
		c.changed.URL.Shown = maskURL(c.changed.URL.Shown)
	}
	var facts []fact
	f := c.changed
	if f.URL != nil || f.Headers != nil || len(f.Events) > 0 && !slices.Equal(f.Events, x.events) ||
		f.Rate != nil && *f.Rate != x.rate || f.Schedule != nil && !slices.Equal(*f.Schedule, x.schedule) {
		facts = append(facts, f)
	}
	if c.status != "" && (c.status == EndpointDisabled) != x.disabled {
		reason := ""
		if c.status == EndpointDisabled {
			reason = "by_request"
		}
		facts = append(facts, endpointStatusSet{ID: c.id, Disabled: c.status == EndpointDisabled, Reason: reason})
	}
	return facts, nil
}

type rotateEndpoint struct{ rotated endpointRotated }

func (rotateEndpoint) name() string { return "rotate_endpoint" }

func (c rotateEndpoint) decide(s *state) ([]fact, error) {
	x, ok := s.endpoints[c.rotated.ID]
	switch {
	case !ok:
		return nil, httpapi.NotFound("endpoint")
	case len(x.secrets) >= maxSigningSecrets:
		return nil, httpapi.Errorf(httpapi.CodeConflict, "%d secrets of the endpoint are still valid: wait until one ends, or rotate with overlap_seconds 0", len(x.secrets)).After(time.Minute)
	}
	return []fact{c.rotated}, nil
}

// maxSigningSecrets bounds the signatures of one delivery.
const maxSigningSecrets = 8

type deleteEndpoint struct{ id string }

func (deleteEndpoint) name() string { return "delete_endpoint" }

func (c deleteEndpoint) decide(s *state) ([]fact, error) {
	if s.endpoints[c.id] == nil {
		return nil, httpapi.NotFound("endpoint")
	}
	return []fact{endpointDeleted{ID: c.id}}, nil
}

// disableEndpoint is what the lane asks when an endpoint is gone; one that is
// disabled or deleted already stays as it is.
type disableEndpoint struct{ id, reason string }

func (disableEndpoint) name() string { return "disable_endpoint" }

func (c disableEndpoint) decide(s *state) ([]fact, error) {
	if x := s.endpoints[c.id]; x == nil || x.disabled {
		return nil, nil
	}
	return []fact{endpointStatusSet{ID: c.id, Disabled: true, Reason: c.reason}}, nil
}

// noteHealth keeps since when an endpoint fails. The first time noted stays until
// it is cleared.
type noteHealth struct {
	id    string
	since time.Time
}

func (noteHealth) name() string { return "note_endpoint_health" }

func (c noteHealth) decide(s *state) ([]fact, error) {
	x := s.endpoints[c.id]
	if x == nil || x.failing.IsZero() == c.since.IsZero() {
		return nil, nil
	}
	return []fact{endpointHealthSet{ID: c.id, Failing: c.since}}, nil
}
