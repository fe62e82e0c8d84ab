package control

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"time"

	"weir/internal/httpapi"
)

const (
	endpointPrefix   = "ep_"
	signingKeyPrefix = "whk_"

	// defaultOverlap is how long the old secret signs too after a rotation, longestOverlap the most.
	defaultOverlap = 24 * time.Hour
	longestOverlap = 7 * 24 * time.Hour
)

// EndpointSpec is what an endpoint is made of; in a change what is nil stays.
type EndpointSpec struct {
	Kind     string
	URL      *string
	Events   []string
	Headers  *map[string]string
	Rate     *float64 // 0: no limit
	Schedule *[]int64 // seconds; empty: the default
	Status   string   // "" stays
}

// NewEndpoint is what CreateEndpoint and RotateEndpoint made: the only time the secret is shown.
type NewEndpoint struct {
	Endpoint Endpoint
	Secret   Secret
}

// CreateEndpoint makes an endpoint with its first signing secret. The spec was
// checked by the routes. Repeating it makes another.
func (c *Commands) CreateEndpoint(ctx context.Context, by httpapi.Principal, projectID string, spec EndpointSpec) (NewEndpoint, error) {
	id, keyID, secret := endpointPrefix+randomBase62(projectIDRandom), signingKeyPrefix+randomBase62(keyIDLen), newWebhookSecret()
	made := endpointCreated{ID: id, Kind: spec.Kind, Events: spec.Events, KeyID: keyID,
		Secret: c.keyring.Seal(purposeEndpointSecret, secretEntity(id, keyID), secret)}
	if spec.URL != nil {
		sealed := c.sealURL(id, *spec.URL)
		made.URL, made.ShownURL = sealed.Sealed, sealed.Shown
		if spec.Kind != KindHTTP {
			made.ShownURL = maskURL(*spec.URL)
		}
	}
	if spec.Headers != nil {
		sealed := c.sealHeaders(id, *spec.Headers)
		made.Headers, made.HeaderNames = sealed.Sealed, sealed.Names
	}
	if spec.Rate != nil {
		made.Rate = *spec.Rate
	}
	if spec.Schedule != nil {
		made.Schedule = *spec.Schedule
	}
	if err := c.run(ctx, actor(by), projectID, createEndpoint{project: projectID, made: made}); err != nil {
		return NewEndpoint{}, err
	}
	shown, _ := c.dir.Endpoint(id)
	return NewEndpoint{Endpoint: shown, Secret: secret}, nil
}

func (c *Commands) sealURL(id, text string) sealedURL {
	return sealedURL{Sealed: c.keyring.Seal(purposeEndpointURL, id, NewSecret(text)), Shown: text}
}

func (c *Commands) sealHeaders(id string, headers map[string]string) sealedHeaders {
	if len(headers) == 0 {
		return sealedHeaders{Names: []string{}}
	}
	text, _ := json.Marshal(headers)
	return sealedHeaders{Sealed: c.keyring.Seal(purposeEndpointHeaders, id, secretOf(text)), Names: slices.Sorted(maps.Keys(headers))}
}

// maskURL keeps of a URL what tells nobody how to post there: the path of a chat
// service's webhook is its password.
func maskURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return Redacted
	}
	return u.Scheme + "://" + u.Host + "/" + Redacted
}

// ChangeEndpoint changes what the spec names.
func (c *Commands) ChangeEndpoint(ctx context.Context, by httpapi.Principal, id string, spec EndpointSpec) (Endpoint, error) {
	x, ok := c.dir.Endpoint(id)
	if !ok {
		return Endpoint{}, httpapi.NotFound("endpoint")
	}
	cmd := changeEndpoint{id: id, status: spec.Status, changed: endpointChanged{ID: id, Events: spec.Events, Rate: spec.Rate, Schedule: spec.Schedule}}
	if spec.URL != nil {
		sealed := c.sealURL(id, *spec.URL)
		cmd.changed.URL = &sealed
	}
	if spec.Headers != nil {
		sealed := c.sealHeaders(id, *spec.Headers)
		cmd.changed.Headers = &sealed
	}
	if err := c.run(ctx, actor(by), x.ProjectID, cmd); err != nil {
		return Endpoint{}, err
	}
	x, _ = c.dir.Endpoint(id)
	return x, nil
}

// RotateEndpoint gives an endpoint a new signing secret. The old ones sign too for overlap.
func (c *Commands) RotateEndpoint(ctx context.Context, by httpapi.Principal, id string, overlap time.Duration) (NewEndpoint, error) {
	x, ok := c.dir.Endpoint(id)
	if !ok {
		return NewEndpoint{}, httpapi.NotFound("endpoint")
	}
	keyID, secret := signingKeyPrefix+randomBase62(keyIDLen), newWebhookSecret()
	cmd := rotateEndpoint{endpointRotated{ID: id, KeyID: keyID, Until: c.now().UTC().Add(overlap),
		Secret: c.keyring.Seal(purposeEndpointSecret, secretEntity(id, keyID), secret)}}
	if err := c.run(ctx, actor(by), x.ProjectID, cmd); err != nil {
		return NewEndpoint{}, err
	}
	x, _ = c.dir.Endpoint(id)
	return NewEndpoint{Endpoint: x, Secret: secret}, nil
}

// DeleteEndpoint ends an endpoint; what is still owed to it is canceled.
func (c *Commands) DeleteEndpoint(ctx context.Context, by httpapi.Principal, id string) error {
	x, ok := c.dir.Endpoint(id)
	if !ok {
		return httpapi.NotFound("endpoint")
	}
	return c.run(ctx, actor(by), x.ProjectID, deleteEndpoint{id: id})
}

// lane is who changes endpoints because of what their receivers answered.
const lane = "webhooks"

// DisableEndpoint is for the webhook lane: the receiver said that it is gone, or
// has failed for too long. Repeating it adds nothing to the log.
func (c *Commands) DisableEndpoint(ctx context.Context, id, reason string) error {
	x, ok := c.dir.Endpoint(id)
	if !ok {
		return nil
	}
	return c.run(ctx, lane, x.ProjectID, disableEndpoint{id: id, reason: reason})
}

// NoteEndpointHealth is for the webhook lane: since when every attempt failed, zero
// when one succeeded. Repeating it adds nothing to the log.
func (c *Commands) NoteEndpointHealth(ctx context.Context, id string, failingSince time.Time) error {
	x, ok := c.dir.Endpoint(id)
	if !ok {
		return nil
	}
	return c.run(ctx, lane, x.ProjectID, noteHealth{id: id, since: failingSince})
}
