package httpapi

import (
	"context"
	"fmt"
	"strings"
)

// Scope is a set of things an API key may do. The zero value allows nothing.
type Scope uint8

// The scopes a key can have. They do not imply each other.
const (
	ScopeIngest Scope = 1 << iota // append events to the key's own project
	ScopeRead                     // read the own project's read models
	ScopeManage                   // change the own project's keys, endpoints and group status

	// ScopeAll is what a project's first key has.
	ScopeAll = ScopeIngest | ScopeRead | ScopeManage
)

var scopeNames = [...]struct {
	scope Scope
	name  string
}{{ScopeIngest, "ingest"}, {ScopeRead, "read"}, {ScopeManage, "manage"}}

// Has says whether every scope of want is in s.
func (s Scope) Has(want Scope) bool { return s&want == want }

// Names lists the scopes in s by their wire names, in a fixed order.
func (s Scope) Names() []string {
	names := make([]string, 0, len(scopeNames))
	for _, n := range scopeNames {
		if s.Has(n.scope) {
			names = append(names, n.name)
		}
	}
	return names
}

// String joins the wire names by commas.
func (s Scope) String() string { return strings.Join(s.Names(), ",") }

// ParseScopes turns wire names into a set. An unknown or repeated name is an error that names it.
func ParseScopes(names []string) (Scope, error) {
	var set Scope
	for _, name := range names {
		one, ok := parseScope(name)
		if !ok {
			return 0, fmt.Errorf("unknown scope %q: must be ingest, read or manage", name)
		}
		if set.Has(one) {
			return 0, fmt.Errorf("scope %q given twice", name)
		}
		set |= one
	}
	return set, nil
}

func parseScope(name string) (Scope, bool) {
	for _, n := range scopeNames {
		if n.name == name {
			return n.scope, true
		}
	}
	return 0, false
}

// Principal is who is calling: the admin, or one key of one project. It holds no secret.
type Principal struct {
	Admin     bool   // may do everything, in every project
	ProjectID string // empty for the admin
	KeyID     string // the public part of the key; empty for the admin
	Scopes    Scope
}

// Can says whether the caller has every scope of want; the admin has all of them.
func (p Principal) Can(want Scope) bool { return p.Admin || p.Scopes.Has(want) }

// Owns says whether the caller may see that project at all. When it may not,
// the answer is 404, never 403: a foreign project does not exist for it.
func (p Principal) Owns(projectID string) bool {
	return p.Admin || (projectID != "" && p.ProjectID == projectID)
}

// Authenticator turns a bearer credential into its caller. It must be safe
// for concurrent use, compare in constant time, and never block on I/O.
type Authenticator interface {
	Authenticate(bearer string) (Principal, bool)
}

type principalKey struct{}

// WithPrincipal gives ctx its caller, and the request's log line too when there is one.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	NotePrincipal(ctx, p)
	return context.WithValue(ctx, principalKey{}, p)
}

// NotePrincipal records the caller for the request's log line only. The
// ingest path uses it, which authenticates by itself.
func NotePrincipal(ctx context.Context, p Principal) {
	if s := stateFrom(ctx); s != nil {
		s.principal = p
	}
}

// PrincipalFrom returns the caller that RequireScope put into the request's
// context; the zero Principal, which may do nothing, when there is none.
func PrincipalFrom(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}
