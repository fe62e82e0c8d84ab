package control

import (
	"time"

	"weir/internal/httpapi"
)

// state is the fold of the control log: the same records in the same order
// give the same state, on every node and after every restart. It holds
// secrets sealed, as they are in the log. Not safe for concurrent use.
type state struct {
	projects map[string]*project
	keys     map[string]*key // by key id, over all projects
	order    []string        // project ids, oldest first

	endpoints map[string]*endpoint // by endpoint id, over all projects; deleted ones are gone
}

type project struct {
	id       string
	name     string
	created  time.Time
	operator bool
	limits   Limits
	sealed   string   // the webhook secret
	keys     []string // key ids, oldest first, revoked ones too

	endpoints []string // endpoint ids, oldest first
	budgets   []budget // oldest first; replaced, never changed
}

type key struct {
	id      string
	project string
	name    string
	hash    hash
	scopes  httpapi.Scope
	created time.Time
	revoked time.Time // zero: live
}

func newState() *state {
	return &state{projects: map[string]*project{}, keys: map[string]*key{}, endpoints: map[string]*endpoint{}}
}

// apply folds one event. An event that makes no sense in this state changes
// nothing and is answered with the reason, one of a fixed few.
func (s *state) apply(e event) error { return e.data.apply(s, e) }

func (f projectCreated) apply(s *state, e event) error {
	if _, taken := s.projects[e.project]; taken {
		return errDuplicate
	}
	s.projects[e.project] = &project{id: e.project, name: f.Name, created: e.at}
	s.order = append(s.order, e.project)
	return nil
}

func (f projectRenamed) apply(s *state, e event) error {
	return s.change(e, func(p *project) { p.name = f.Name })
}

func (f secretSet) apply(s *state, e event) error {
	if f.Sealed == "" {
		return errNonsense
	}
	return s.change(e, func(p *project) { p.sealed = f.Sealed })
}

func (f operatorSet) apply(s *state, e event) error {
	return s.change(e, func(p *project) { p.operator = f.Operator })
}

// apply leaves out limits it does not know or that are out of range, and takes the others.
func (f limitsSet) apply(s *state, e event) error {
	var bad error
	err := s.change(e, func(p *project) {
		for name, to := range f.Limits {
			if !inRange(name, to) {
				bad = errNonsense
				continue
			}
			p.limits, _ = p.limits.with(name, to)
		}
	})
	if err != nil {
		return err
	}
	return bad
}

func inRange(name string, to Limit) bool {
	r, known := limitRange[name]
	return known && (!to.Set || (to.N >= r.min && to.N <= r.max))
}

func (s *state) change(e event, do func(*project)) error {
	p, ok := s.projects[e.project]
	if !ok {
		return errNoProject
	}
	do(p)
	return nil
}

// apply ignores scopes of newer nodes: a key then can do less here, never more.
func (f keyCreated) apply(s *state, e event) error {
	p, ok := s.projects[e.project]
	switch {
	case !ok:
		return errNoProject
	case len(f.ID) != keyIDLen || !isBase62(f.ID) || len(f.SHA256) != len(hash{}):
		return errNonsense
	case s.keys[f.ID] != nil:
		return errDuplicate
	}
	k := &key{id: f.ID, project: p.id, name: f.Name, hash: hash(f.SHA256), created: e.at}
	for _, name := range f.Scopes {
		one, _ := httpapi.ParseScopes([]string{name})
		k.scopes |= one
	}
	s.keys[k.id] = k
	p.keys = append(p.keys, k.id)
	return nil
}

// apply keeps the time of the first revocation.
func (f keyRevoked) apply(s *state, e event) error {
	k, ok := s.keys[f.ID]
	if !ok || k.project != e.project {
		return errNoKey
	}
	if k.revoked.IsZero() {
		k.revoked = e.at
		if e.at.IsZero() { // a revocation without a time is one all the same
			k.revoked = time.Unix(0, 0).UTC()
		}
	}
	return nil
}
