package control

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"weir/internal/httpapi"
)

// A command asks for a change. decide is a pure function of the command and
// the state: the facts to append (none: it is so already), or a refusal, an
// *httpapi.Error. Whatever is random was drawn before and is in the command.
type command interface {
	name() string
	decide(s *state) ([]fact, error)
}

// Bounds, so that no caller can make the Directory grow without end.
const (
	maxNameRunes   = 100
	maxProjectKeys = 10_000 // revoked ones count: they stay listed
)

// createProject makes a project with its webhook secret and first key, which has every scope.
type createProject struct {
	id, title string
	sealed    string // the webhook secret
	key       newKey
}

// newKey is a key to be made: its public parts.
type newKey struct {
	id     string
	hash   hash
	title  string
	scopes httpapi.Scope
}

func (k newKey) fact() fact {
	return keyCreated{ID: k.id, SHA256: k.hash[:], Name: k.title, Scopes: k.scopes.Names()}
}

func (createProject) name() string { return "create_project" }

func (c createProject) decide(s *state) ([]fact, error) {
	if err := checkName("name", c.title, true); err != nil {
		return nil, err
	}
	if s.projects[c.id] != nil || s.keys[c.key.id] != nil {
		return nil, drawnTwice()
	}
	return []fact{projectCreated{Name: c.title}, secretSet{Sealed: c.sealed}, c.key.fact()}, nil
}

// drawnTwice does not happen: ids have 71 random bits and more.
func drawnTwice() error {
	return httpapi.Errorf(httpapi.CodeConflict, "the id drawn is taken; send the request again")
}

// changeProject changes what it names; nil and absent limits stay.
type changeProject struct {
	id       string
	title    *string
	operator *bool
	limits   map[string]Limit
}

func (changeProject) name() string { return "change_project" }

func (c changeProject) decide(s *state) ([]fact, error) {
	p, ok := s.projects[c.id]
	if !ok {
		return nil, httpapi.NotFound("project")
	}
	var facts []fact
	if c.title != nil {
		if err := checkName("name", *c.title, true); err != nil {
			return nil, err
		}
		if *c.title != p.name {
			facts = append(facts, projectRenamed{Name: *c.title})
		}
	}
	if err := checkLimits(c.limits); err != nil {
		return nil, err
	}
	if differing := differing(p.limits, c.limits); len(differing) > 0 {
		facts = append(facts, limitsSet{Limits: differing})
	}
	if c.operator != nil && *c.operator != p.operator {
		facts = append(facts, operatorSet{Operator: *c.operator})
	}
	return facts, nil
}

// differing leaves out what is so already, so that repeating a request adds nothing to the log.
func differing(have Limits, want map[string]Limit) map[string]Limit {
	out := map[string]Limit{}
	for name, to := range want {
		if have.get(name) != to {
			out[name] = to
		}
	}
	return out
}

func checkLimits(limits map[string]Limit) error {
	var problems []httpapi.ParamProblem
	for _, name := range []string{limitEvents, limitBatches, limitBytes} {
		to, given := limits[name]
		if given && !inRange(name, to) {
			problems = append(problems, httpapi.ParamProblem{Name: name, Reason: rangeReason(name)})
		}
	}
	return httpapi.FieldErrors(problems...)
}

func rangeReason(name string) string {
	r := limitRange[name]
	return fmt.Sprintf("must be a whole number from %d to %d, or null for the default", r.min, r.max)
}

// createKey makes one more key. granted is what the caller itself may do: a
// key cannot give a scope it does not have, or manage would mean all scopes.
type createKey struct {
	project string
	key     newKey
	granted httpapi.Scope
}

func (createKey) name() string { return "create_key" }

func (c createKey) decide(s *state) ([]fact, error) {
	p, ok := s.projects[c.project]
	switch {
	case !ok:
		return nil, httpapi.NotFound("project")
	case c.key.scopes == 0:
		return nil, httpapi.FieldErrors(httpapi.ParamProblem{Name: "scopes", Reason: "must name at least one of ingest, read, manage"})
	case !c.granted.Has(c.key.scopes):
		return nil, httpapi.Errorf(httpapi.CodeForbidden, "a key can only give scopes it has itself: this one has %s", c.granted)
	case s.keys[c.key.id] != nil:
		return nil, drawnTwice()
	case len(p.keys) >= maxProjectKeys:
		return nil, httpapi.Errorf(httpapi.CodeConflict, "the project has had %d keys, the most there can be: use another project", maxProjectKeys)
	}
	if err := checkName("name", c.key.title, false); err != nil {
		return nil, err
	}
	return []fact{c.key.fact()}, nil
}

// revokeKey ends a key for ever; revoking it again is no change. The last key
// may be revoked too, also the last with manage: a leaked key must never have
// to stay, and the admin can always make another.
type revokeKey struct{ project, id string }

func (revokeKey) name() string { return "revoke_key" }

func (c revokeKey) decide(s *state) ([]fact, error) {
	k, ok := s.keys[c.id]
	switch {
	case !ok || k.project != c.project:
		return nil, httpapi.NotFound("key")
	case !k.revoked.IsZero():
		return nil, nil
	}
	return []fact{keyRevoked{ID: c.id}}, nil
}

// tenantLimit is a tenant event of an operator project: it sets the events per
// second of the project it names.
type tenantLimit struct {
	operator, project string
	perSecond         int64
}

func (tenantLimit) name() string { return "tenant_limit" }

func (c tenantLimit) decide(s *state) ([]fact, error) {
	from, known := s.projects[c.operator]
	if !known || !from.operator {
		return nil, httpapi.Errorf(httpapi.CodeForbidden, "only an operator project's tenant events set limits")
	}
	return changeProject{id: c.project, limits: map[string]Limit{limitEvents: Is(c.perSecond)}}.decide(s)
}

func checkName(field, name string, required bool) error {
	reason := ""
	switch {
	case required && strings.TrimSpace(name) == "":
		reason = "required"
	case !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxNameRunes:
		reason = fmt.Sprintf("must be at most %d characters", maxNameRunes)
	case strings.ContainsFunc(name, unicode.IsControl):
		reason = "must not have control characters"
	case looksSecret(name):
		reason = "must not hold a key, token or secret"
	}
	if reason == "" {
		return nil
	}
	return httpapi.FieldErrors(httpapi.ParamProblem{Name: field, Reason: reason})
}

// looksSecret catches a key pasted into the wrong field before it is kept for ever.
func looksSecret(s string) bool {
	return strings.Contains(s, secretPrefix) || strings.Contains(s, tokenPrefix) ||
		(strings.Contains(s, keyPrefix) && len(s) >= keyLen)
}
