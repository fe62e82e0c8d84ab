package control

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Kinds of endpoints. All but internal have a URL; chat kinds are sent what their
// service understands.
const (
	KindHTTP       = "http"
	KindSlack      = "slack"
	KindDiscord    = "discord"
	KindTeams      = "teams"
	KindMattermost = "mattermost"
	KindInternal   = "internal"
)

// Kinds lists them all.
func Kinds() []string {
	return []string{KindHTTP, KindSlack, KindDiscord, KindTeams, KindMattermost, KindInternal}
}

// Statuses of an endpoint.
const (
	EndpointEnabled  = "enabled"
	EndpointDisabled = "disabled"
)

// Endpoint is what can be shown of an endpoint. It holds no secret: header values
// are left out, and the path of a chat service's URL, which is its password.
type Endpoint struct {
	ID             string     `json:"id"`
	ProjectID      string     `json:"project_id"`
	URL            string     `json:"url"`
	Kind           string     `json:"kind"`
	Events         []string   `json:"events"`
	Headers        []string   `json:"headers"`         // names
	RatePerSecond  *float64   `json:"rate_per_second"` // nil: no limit
	Schedule       []int64    `json:"schedule"`        // seconds before each retry; nil: the default
	Status         string     `json:"status"`
	DisabledReason string     `json:"disabled_reason,omitempty"`
	FailingSince   *time.Time `json:"failing_since,omitempty"`
	Version        int        `json:"version"`
	KeyID          string     `json:"key_id"` // of the current signing secret
	CreatedAt      time.Time  `json:"created_at"`
	// FormerUntil is when the last secret before a rotation stops signing beside the current one; nil: none does.
	FormerUntil *time.Time `json:"former_secret_until,omitempty"`
}

// Target is an endpoint with all that is needed to call it.
type Target struct {
	Endpoint
	Address Secret // the URL
	Headers map[string]Secret
	Keys    []SigningKey // the current one first
}

// SigningKey is one version of an endpoint's signing secret.
type SigningKey struct {
	ID     string
	Secret Secret
	Until  time.Time // when it stops signing; zero: it is the current one
}

// Covers says whether a subscription pattern takes an event type: "*" takes all,
// "deploy.*" what begins with "deploy.", anything else itself.
func Covers(pattern, eventType string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(eventType, prefix)
	}
	return pattern == eventType
}

func (x *endpoint) view() Endpoint {
	v := Endpoint{
		ID: x.id, ProjectID: x.project, URL: x.shownURL, Kind: x.kind, Events: x.events, Headers: x.headerNames,
		Schedule: x.schedule, Status: EndpointEnabled, Version: x.version, KeyID: x.secrets[0].id, CreatedAt: x.created.UTC(),
	}
	if v.Headers == nil {
		v.Headers = []string{}
	}
	if x.rate > 0 {
		rate := x.rate
		v.RatePerSecond = &rate
	}
	if x.disabled {
		v.Status, v.DisabledReason = EndpointDisabled, x.reason
	}
	if !x.failing.IsZero() {
		at := x.failing.UTC()
		v.FailingSince = &at
	}
	for _, former := range x.secrets[1:] {
		until := former.until.UTC()
		if until.After(time.Now()) && (v.FormerUntil == nil || until.After(*v.FormerUntil)) {
			v.FormerUntil = &until
		}
	}
	return v
}

// Endpoint returns an endpoint by id.
func (d *Directory) Endpoint(id string) (Endpoint, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	x, ok := d.state.endpoints[id]
	if !ok {
		return Endpoint{}, false
	}
	return x.view(), true
}

// Endpoints returns up to limit endpoints of a project, newest first, that are
// older in the log than the endpoint after. False: no such project, or after is none of its endpoints.
func (d *Directory) Endpoints(projectID, after string, limit int) ([]Endpoint, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	p, ok := d.state.projects[projectID]
	if !ok {
		return nil, false
	}
	return newestFirst(p.endpoints, after, limit, func(id string) Endpoint { return d.state.endpoints[id].view() })
}

// Subscribed returns the enabled endpoints of a project that take an event type
// and existed at a time (zero: now). It may be called for every event.
func (d *Directory) Subscribed(projectID, eventType string, at time.Time) []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	p, ok := d.state.projects[projectID]
	if !ok {
		return nil
	}
	var ids []string
	for _, id := range p.endpoints {
		x := d.state.endpoints[id]
		if x.disabled || (!at.IsZero() && x.created.After(at)) {
			continue
		}
		for _, pattern := range x.events {
			if Covers(pattern, eventType) {
				ids = append(ids, id)
				break
			}
		}
	}
	return ids
}

// Target returns an endpoint with its secrets opened. The error says that they
// cannot be opened with this node's master keys. The result is shared: read it only.
func (d *Directory) Target(id string) (*Target, bool, error) {
	d.mu.RLock()
	x, ok := d.state.endpoints[id]
	if !ok {
		d.mu.RUnlock()
		d.targets.Delete(id)
		return nil, false, nil
	}
	seen := *x // its slices are replaced, never changed
	d.mu.RUnlock()
	if kept, ok := d.targets.Load(id); ok {
		if t := kept.(*Target); t.Version == seen.version {
			return t, true, nil
		}
	}
	t, err := d.open(&seen)
	if err == nil {
		d.targets.Store(id, t)
	}
	return t, true, err
}

const (
	purposeEndpointURL     = "endpoint.url"
	purposeEndpointHeaders = "endpoint.headers"
	purposeEndpointSecret  = "endpoint.secret"
)

func (d *Directory) open(x *endpoint) (*Target, error) {
	t := &Target{Endpoint: x.view()}
	keyring := d.index.keyring
	var err error
	if x.url != "" {
		if t.Address, err = keyring.Open(purposeEndpointURL, x.id, x.url); err != nil {
			return t, err
		}
	}
	if x.headers != "" {
		sealed, err := keyring.Open(purposeEndpointHeaders, x.id, x.headers)
		if err != nil {
			return t, err
		}
		var texts map[string]string
		if err := json.Unmarshal(sealed.Bytes(), &texts); err != nil {
			return t, ErrSealBroken
		}
		t.Headers = make(map[string]Secret, len(texts))
		for name, value := range texts {
			t.Headers[name] = NewSecret(value)
		}
	}
	for _, s := range x.secrets {
		text, err := keyring.Open(purposeEndpointSecret, secretEntity(x.id, s.id), s.sealed)
		if err != nil {
			return t, err
		}
		t.Keys = append(t.Keys, SigningKey{ID: s.id, Secret: text, Until: s.until})
	}
	return t, nil
}

// PastSecret returns the signing secret that an endpoint had under a key's id, ended
// ones too; false when it is not known (any more). The error says that it cannot be
// opened with this node's master keys.
func (d *Directory) PastSecret(endpoint, keyID string) (Secret, bool, error) {
	d.mu.RLock()
	var sealed string
	if x, ok := d.state.endpoints[endpoint]; ok {
		for _, s := range slices.Concat(x.retired, x.secrets) {
			if s.id == keyID {
				sealed = s.sealed
			}
		}
	}
	d.mu.RUnlock()
	if sealed == "" {
		return Secret{}, false, nil
	}
	text, err := d.index.keyring.Open(purposeEndpointSecret, secretEntity(endpoint, keyID), sealed)
	return text, true, err
}

func secretEntity(endpoint, key string) string { return endpoint + "/" + key }
