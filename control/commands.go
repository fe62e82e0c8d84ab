package control

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"weir/eventlog"
	"weir/internal/httpapi"
)

const purposeWebhookSecret = "project.webhook_secret"

// settleTime bounds a command: appending it and reading it back.
const settleTime = 10 * time.Second

// Commands changes control state. Every method appends what it decided, waits
// until this node's Directory shows it, and is safe for concurrent use.
// Errors are *httpapi.Error: not_found, forbidden, invalid_request, conflict
// when refused and overloaded when the log takes no more, nothing was appended
// then; unavailable when the log did not
// take or show the change in time, it may yet come true and may be sent again.
type Commands struct {
	dir     *Directory
	log     Log
	keyring *Keyring
	logger  *slog.Logger
	now     func() time.Time
}

// NewCommands makes the commands of a node that has this Directory.
func NewCommands(d *Directory) *Commands {
	return &Commands{dir: d, log: d.log, keyring: d.index.keyring, logger: d.logger, now: time.Now}
}

// NewProject is what CreateProject made: the only time its secrets are shown.
type NewProject struct {
	Project       Project
	KeyID         string
	APIKey        Secret
	WebhookSecret Secret
}

// NewKey is what CreateKey made: the only time the key's text is shown.
type NewKey struct {
	Key    Key
	APIKey Secret
}

// CreateProject makes a project, its webhook secret and its first key with
// every scope, all or nothing. Names need not be unique. Repeating it makes another.
func (c *Commands) CreateProject(ctx context.Context, by httpapi.Principal, name string) (NewProject, error) {
	id, secret, k := newProjectID(), newWebhookSecret(), newAPIKey()
	cmd := createProject{
		id: id, title: name, sealed: c.keyring.Seal(purposeWebhookSecret, id, secret),
		key: newKey{id: k.id, hash: k.hash, scopes: httpapi.ScopeAll},
	}
	if err := c.run(ctx, actor(by), id, cmd); err != nil {
		return NewProject{}, err
	}
	p, _ := c.dir.Project(id)
	return NewProject{Project: p, KeyID: k.id, APIKey: k.text, WebhookSecret: secret}, nil
}

// Change is what ChangeProject changes; what is nil or absent stays as it is.
type Change struct {
	Name     *string
	Operator *bool
	Limits   map[string]Limit // by name: events_per_second, batches_per_second, batch_bytes; an unset Limit is the default
}

// ChangeProject renames a project, marks it as operator or sets its limits. Of
// two changes at once to one property the later in the log holds.
func (c *Commands) ChangeProject(ctx context.Context, by httpapi.Principal, projectID string, ch Change) (Project, error) {
	err := c.run(ctx, actor(by), projectID, changeProject{id: projectID, title: ch.Name, operator: ch.Operator, limits: ch.Limits})
	if err != nil {
		return Project{}, err
	}
	p, _ := c.dir.Project(projectID)
	return p, nil
}

// CreateKey makes a key of a project; name may be empty. The caller must be
// allowed to manage the project (the routes check it) and can give only scopes it has.
func (c *Commands) CreateKey(ctx context.Context, by httpapi.Principal, projectID, name string, scopes httpapi.Scope) (NewKey, error) {
	granted := by.Scopes
	if by.Admin {
		granted = httpapi.ScopeAll
	}
	k := newAPIKey()
	cmd := createKey{project: projectID, key: newKey{id: k.id, hash: k.hash, title: name, scopes: scopes}, granted: granted}
	if err := c.run(ctx, actor(by), projectID, cmd); err != nil {
		return NewKey{}, err
	}
	shown, _ := c.dir.key(projectID, k.id)
	return NewKey{Key: shown, APIKey: k.text}, nil
}

// RevokeKey ends a key. Gateways refuse it as soon as they have read the
// record, at once in practice. Revoking it again is no error.
func (c *Commands) RevokeKey(ctx context.Context, by httpapi.Principal, projectID, keyID string) error {
	return c.run(ctx, actor(by), projectID, revokeKey{project: projectID, id: keyID})
}

// ApplyTenantLimit does what a tenant event asks: it sets the events per second
// of projectID, when operatorID is an operator project (else forbidden).
// Repeating it adds nothing to the log. It appends and waits: never call it
// while a client waits for its batch.
func (c *Commands) ApplyTenantLimit(ctx context.Context, operatorID, projectID string, perSecond int64) error {
	return c.run(ctx, "tenant:"+operatorID, projectID, tenantLimit{operator: operatorID, project: projectID, perSecond: perSecond})
}

func actor(p httpapi.Principal) string {
	if p.Admin {
		return "admin"
	}
	return "key:" + p.KeyID
}

// run decides, appends and waits. Neither the command nor its facts are logged.
func (c *Commands) run(ctx context.Context, by, projectID string, cmd command) error {
	_, err := c.runTo(ctx, by, projectID, cmd)
	return err
}

// runTo is run; next is the offset after what was appended, 0 when that was nothing.
func (c *Commands) runTo(ctx context.Context, by, projectID string, cmd command) (next int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	facts, err := c.decide(cmd)
	if err == nil && len(facts) > 0 {
		next, err = c.settle(ctx, by, projectID, facts)
	}
	c.dir.metrics.commands.WithLabelValues(cmd.name(), outcome(err)).Inc()
	if err == nil && len(facts) > 0 {
		c.logger.Info("control changed", "command", cmd.name(), "project", projectID, "by", by)
	}
	return next, err
}

func outcome(err error) string {
	var e *httpapi.Error
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &e) && e.Code.Status() < 500:
		return "refused"
	}
	return "failed"
}

func (c *Commands) decide(cmd command) ([]fact, error) {
	if !c.dir.isReady() {
		return nil, httpapi.Errorf(httpapi.CodeUnavailable, "this node is still reading the control log; send it again").After(time.Second)
	}
	c.dir.mu.RLock()
	defer c.dir.mu.RUnlock()
	return cmd.decide(c.dir.state)
}

// settle appends the facts as one set, so that all are in the log or none, and
// waits until the Directory has folded the last. next is the offset after it.
func (c *Commands) settle(ctx context.Context, by, projectID string, facts []fact) (next int64, err error) {
	now := c.now().UTC()
	set := eventlog.Set{Key: []byte(projectID), Time: now}
	_, _ = rand.Read(set.Batch[:])
	for _, f := range facts {
		value, err := event{at: now, by: by, project: projectID, data: f}.encode()
		if err != nil {
			return 0, httpapi.Errorf(httpapi.CodeInternal, "the change could not be encoded").Because(err)
		}
		set.Values = append(set.Values, value)
	}
	first, err := c.log.Append(ctx, eventlog.ControlTopic, controlPartition, set)
	if errors.Is(err, eventlog.ErrOverloaded) {
		return 0, httpapi.Errorf(httpapi.CodeOverloaded, "too much waits for the log; nothing was changed, send it again").
			Because(err).After(time.Second)
	}
	if err != nil {
		return 0, httpapi.Errorf(httpapi.CodeUnavailable, "the log did not acknowledge the change; look whether it was made, else send it again").
			Because(err).After(time.Second)
	}
	next = first + int64(len(facts))
	if err := c.dir.Wait(ctx, next); err != nil {
		return 0, httpapi.Errorf(httpapi.CodeUnavailable, "the change is in the log, and this node has not read it yet; look again soon").
			Because(err).After(time.Second)
	}
	return next, nil
}
