package main

import (
	"context"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/control"
	"weir/eventlog"
	"weir/readmodel"
	"weir/webhooks"
	"weir/webhooks/guard"
	"weir/webhooks/signing"
)

// loopbackCIDRs are what `serve --demo` opens to webhooks, so that a receiver on the same laptop can be tried.
var loopbackCIDRs = []string{"127.0.0.0/8", "::1/128"}

// webhookGuard is the guard that real deliveries, tests and new endpoints share.
func (p *portal) webhookGuard() (*guard.Guard, error) {
	cidrs := p.cfg.WebhooksAllow
	if p.cfg.Demo {
		cidrs = append(append([]string{}, cidrs...), loopbackCIDRs...)
	}
	allow, err := guard.ParseAllow(cidrs)
	if err != nil {
		return nil, usagef("WEIR_WEBHOOKS_ALLOW_CIDRS: %v", err)
	}
	return &guard.Guard{Allow: allow}, nil
}

// startDeliver runs the lane that sends webhooks.
func (p *portal) startDeliver() error {
	g, err := p.webhookGuard()
	if err != nil {
		return err
	}
	lane, err := webhooks.New(webhooks.Config{
		Log: p.log, Directory: targets{p.directory}, Health: health{control.NewCommands(p.directory)},
		Guard: g, Logger: p.logger, Registerer: p.registry,
	})
	if err != nil {
		return err
	}
	if p.cfg.Demo {
		p.logger.Warn("webhooks may be sent to loopback addresses, because of --demo", "allowed", loopbackCIDRs)
	}
	p.lane = lane
	p.run("webhooks", lane.Run)
	return p.startNotices()
}

// webhookRoutes wires the endpoints of endpoints, and what makes deliveries owed.
func (p *portal) webhookRoutes(r chi.Router, reader *readmodel.Reader) error {
	g, err := p.webhookGuard()
	if err != nil {
		return err
	}
	opts := control.EndpointOptions{CheckURL: func(u *url.URL) error { return g.CheckURL(u) }}
	if p.lane != nil {
		opts.Rotated = func(ctx context.Context, id string, version int) { p.lane.Rotated(ctx, id, version) }
	}
	commands := control.NewCommands(p.directory)
	commands.EndpointRoutes(r, opts)
	commands.BudgetRoutes(r)
	p.backlog = webhooks.NewBacklogWatch(p.log, p.logger, p.registry)
	p.run("backlog of deliveries", p.backlog.Run)
	repeats := webhooks.NewRepeats(p.log)
	p.run("idempotency keys of deliveries", repeats.Run)
	webhooks.NewAPI(webhooks.APIConfig{
		Log: p.log, Decider: webhooks.NewDecider(p.log, targets{p.directory}, p.logger), Auth: p.directory,
		Projects: func(id string) bool {
			_, known := p.directory.Project(id)
			return known
		},
		History: pastDeliveries{reader}, Key: targets{p.directory}.PastKey, Repeats: repeats,
	}).Routes(r)
	return p.startStateNotices(reader)
}

// targets shows the Directory's endpoints to the lane as it wants to see them.
type targets struct{ directory *control.Directory }

func (t targets) Endpoint(id string) (*webhooks.Endpoint, bool, error) {
	found, known, err := t.directory.Target(id)
	if !known || err != nil {
		ep := &webhooks.Endpoint{ID: id}
		if found != nil {
			ep.ProjectID, ep.Kind, ep.Shown = found.ProjectID, found.Kind, found.URL
		}
		return ep, known, err
	}
	ep := &webhooks.Endpoint{
		ID: found.ID, ProjectID: found.ProjectID, Version: found.Version, Kind: found.Kind, Shown: found.URL,
		Address: found.Address.Reveal, Headers: make(map[string]func() string, len(found.Headers)),
		// What changes without a new version is read anew.
		Enabled: found.Status == control.EndpointEnabled, Covers: covers(found.Events),
	}
	if now, ok := t.directory.Endpoint(id); ok && now.FailingSince != nil {
		ep.FailingSince = *now.FailingSince
	}
	if found.RatePerSecond != nil {
		ep.Rate = *found.RatePerSecond
	}
	for _, seconds := range found.Schedule {
		ep.Schedule = append(ep.Schedule, time.Duration(seconds)*time.Second)
	}
	for name, value := range found.Headers {
		ep.Headers[name] = value.Reveal
	}
	for _, k := range found.Keys {
		key, err := signing.ParseSecret(k.Secret.Reveal())
		if err != nil {
			return ep, true, err
		}
		ep.Keys = append(ep.Keys, webhooks.SigningKey{ID: k.ID, Key: key, Until: k.Until})
	}
	return ep, true, nil
}

// PastKey finds a signing key of an endpoint by its id, ended ones too.
func (t targets) PastKey(endpoint, keyID string) (signing.Key, bool, error) {
	secret, known, err := t.directory.PastSecret(endpoint, keyID)
	if !known || err != nil {
		return signing.Key{}, known, err
	}
	key, err := signing.ParseSecret(secret.Reveal())
	return key, true, err
}

func covers(patterns []string) func(string) bool {
	return func(eventType string) bool {
		for _, p := range patterns {
			if control.Covers(p, eventType) {
				return true
			}
		}
		return false
	}
}

func (t targets) Subscribed(project, eventType string, at time.Time) []string {
	return t.directory.Subscribed(project, eventType, at)
}

func (t targets) Next() int64 { return t.directory.Next() }

func (t targets) Wait(ctx context.Context, next int64) error { return t.directory.Wait(ctx, next) }

// health notes in the control log what receivers' answers say.
type health struct{ commands *control.Commands }

func (h health) Disable(ctx context.Context, id, reason string) error {
	return h.commands.DisableEndpoint(ctx, id, reason)
}

func (h health) Failing(ctx context.Context, id string, since time.Time) error {
	return h.commands.NoteEndpointHealth(ctx, id, since)
}

// pastDeliveries shows the read model to the lane.
type pastDeliveries struct{ reader *readmodel.Reader }

func (d pastDeliveries) Delivery(ctx context.Context, project, id string) (webhooks.Past, bool, error) {
	p, known, err := d.reader.PastDelivery(ctx, project, id)
	return webhooks.Past(p), known, err
}

func (d pastDeliveries) Failed(ctx context.Context, project, endpoint string, since time.Time, limit int) ([]webhooks.Past, int, error) {
	found, total, err := d.reader.FailedDeliveries(ctx, readmodel.FailedDeliveriesQuery{Project: project, Endpoint: endpoint, Since: since, Limit: limit})
	past := make([]webhooks.Past, len(found))
	for i, p := range found {
		past[i] = webhooks.Past(p)
	}
	return past, total, err
}

func (d pastDeliveries) Attempt(ctx context.Context, project, id string, number int) (webhooks.PastAttempt, bool, error) {
	a, known, err := d.reader.PastAttempt(ctx, project, id, number)
	return webhooks.PastAttempt(a), known, err
}

var _ webhooks.Log = (*eventlog.Log)(nil)
