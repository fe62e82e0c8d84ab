package control

import (
	"errors"
	"slices"
	"time"
)

var errNoEndpoint = errors.New("unknown_endpoint")

// endpoint is a customer's target of deliveries, as the fold knows it: what is
// secret (the URL, header values, signing secrets) is sealed. version grows with
// every event about it that changes how it is called.
type endpoint struct {
	id, project string
	kind        string
	url         string // sealed
	shownURL    string
	headers     string // sealed JSON object; "": none
	headerNames []string
	events      []string
	rate        float64 // deliveries per second; 0: no limit
	schedule    []int64 // seconds before each retry; nil: the default
	version     int
	created     time.Time
	disabled    bool
	reason      string    // why it is disabled
	failing     time.Time // since when every attempt failed; zero: it does not
	secrets     []signingSecret
	retired     []signingSecret // they sign nothing any more; the last mostRetired, to verify past attempts
}

// mostRetired bounds how far back past attempts can be verified: rotations of one endpoint.
const mostRetired = 100

// signingSecret is one version of an endpoint's signing secret.
type signingSecret struct {
	id     string
	sealed string
	until  time.Time // zero: the current one
}

type endpointCreated struct {
	ID          string   `json:"id"`
	Kind        string   `json:"endpoint_kind"`
	URL         string   `json:"url,omitempty"`       // sealed
	ShownURL    string   `json:"shown_url,omitempty"` // without what is secret in it
	Headers     string   `json:"headers,omitempty"`   // sealed
	HeaderNames []string `json:"header_names,omitempty"`
	Events      []string `json:"events"`
	Rate        float64  `json:"rate,omitempty"`
	Schedule    []int64  `json:"schedule,omitempty"`
	KeyID       string   `json:"key_id"`
	Secret      string   `json:"secret"` // sealed
}

// endpointChanged changes what it names.
type endpointChanged struct {
	ID       string         `json:"id"`
	URL      *sealedURL     `json:"url,omitempty"`
	Headers  *sealedHeaders `json:"headers,omitempty"`
	Events   []string       `json:"events,omitempty"`
	Rate     *float64       `json:"rate,omitempty"`     // 0: no limit
	Schedule *[]int64       `json:"schedule,omitempty"` // empty: the default
}

type sealedURL struct {
	Sealed string `json:"sealed"`
	Shown  string `json:"shown"`
}

type sealedHeaders struct {
	Sealed string   `json:"sealed,omitempty"`
	Names  []string `json:"names"`
}

// endpointRotated gives a new signing secret; those before it end at Until.
type endpointRotated struct {
	ID     string    `json:"id"`
	KeyID  string    `json:"key_id"`
	Secret string    `json:"secret"` // sealed
	Until  time.Time `json:"until"`
}

type endpointStatusSet struct {
	ID       string `json:"id"`
	Disabled bool   `json:"disabled"`
	Reason   string `json:"reason,omitempty"`
}

// endpointHealthSet notes since when every attempt fails; zero ends it.
type endpointHealthSet struct {
	ID      string    `json:"id"`
	Failing time.Time `json:"failing,omitzero"`
}

type endpointDeleted struct {
	ID string `json:"id"`
}

func (endpointCreated) kind() string   { return "endpoint.created" }
func (endpointChanged) kind() string   { return "endpoint.changed" }
func (endpointRotated) kind() string   { return "endpoint.secret_rotated" }
func (endpointStatusSet) kind() string { return "endpoint.status_set" }
func (endpointHealthSet) kind() string { return "endpoint.health_set" }
func (endpointDeleted) kind() string   { return "endpoint.deleted" }

func init() {
	for _, empty := range []func() fact{
		func() fact { return &endpointCreated{} }, func() fact { return &endpointChanged{} }, func() fact { return &endpointRotated{} },
		func() fact { return &endpointStatusSet{} }, func() fact { return &endpointHealthSet{} }, func() fact { return &endpointDeleted{} },
	} {
		newFact[empty().kind()] = empty
	}
}

func (f endpointCreated) apply(s *state, e event) error {
	p, ok := s.projects[e.project]
	switch {
	case !ok:
		return errNoProject
	case f.ID == "" || f.Secret == "" || f.KeyID == "":
		return errNonsense
	case s.endpoints[f.ID] != nil:
		return errDuplicate
	}
	s.endpoints[f.ID] = &endpoint{
		id: f.ID, project: p.id, kind: f.Kind, url: f.URL, shownURL: f.ShownURL, headers: f.Headers, headerNames: f.HeaderNames,
		events: f.Events, rate: f.Rate, schedule: f.Schedule, version: 1, created: e.at,
		secrets: []signingSecret{{id: f.KeyID, sealed: f.Secret}},
	}
	p.endpoints = append(p.endpoints, f.ID)
	return nil
}

// changeEndpoint finds the endpoint of an event. What do does is a new version of it.
func (s *state) changeEndpoint(e event, id string, do func(*endpoint)) error {
	x, ok := s.endpoints[id]
	if !ok || x.project != e.project {
		return errNoEndpoint
	}
	do(x)
	x.version++
	return nil
}

func (f endpointChanged) apply(s *state, e event) error {
	return s.changeEndpoint(e, f.ID, func(x *endpoint) {
		if f.URL != nil {
			x.url, x.shownURL = f.URL.Sealed, f.URL.Shown
		}
		if f.Headers != nil {
			x.headers, x.headerNames = f.Headers.Sealed, f.Headers.Names
		}
		if len(f.Events) > 0 {
			x.events = f.Events
		}
		if f.Rate != nil {
			x.rate = *f.Rate
		}
		if f.Schedule != nil {
			x.schedule = *f.Schedule
		}
	})
}

func (f endpointRotated) apply(s *state, e event) error {
	if f.Secret == "" || f.KeyID == "" {
		return errNonsense
	}
	return s.changeEndpoint(e, f.ID, func(x *endpoint) {
		kept := []signingSecret{{id: f.KeyID, sealed: f.Secret}}
		for _, old := range x.secrets {
			if old.until.IsZero() || old.until.After(f.Until) {
				old.until = f.Until
			}
			if old.until.After(e.at) {
				kept = append(kept, old)
				continue
			}
			x.retired = append(x.retired[:len(x.retired):len(x.retired)], old)
		}
		x.retired = x.retired[max(0, len(x.retired)-mostRetired):]
		x.secrets = kept
	})
}

func (f endpointStatusSet) apply(s *state, e event) error {
	return s.changeEndpoint(e, f.ID, func(x *endpoint) {
		x.disabled, x.reason = f.Disabled, f.Reason
		x.failing = time.Time{}
	})
}

// apply makes no new version: the endpoint is called as before.
func (f endpointHealthSet) apply(s *state, e event) error {
	err := s.changeEndpoint(e, f.ID, func(x *endpoint) {
		x.failing = f.Failing
		x.version--
	})
	return err
}

func (f endpointDeleted) apply(s *state, e event) error {
	return s.changeEndpoint(e, f.ID, func(x *endpoint) {
		delete(s.endpoints, x.id)
		p := s.projects[x.project]
		p.endpoints = slices.DeleteFunc(slices.Clone(p.endpoints), func(id string) bool { return id == x.id })
	})
}
