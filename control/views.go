package control

import (
	"time"

	"weir/internal/httpapi"
)

// Project is what can be shown of a project. It holds no secret.
type Project struct {
	ID        string    `json:"project_id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	Operator  bool      `json:"operator"`
	Limits    Limits    `json:"limits"` // null: the server's default
}

// Key is what can be shown of an API key. It holds no secret.
type Key struct {
	ID        string     `json:"key_id"`
	ProjectID string     `json:"project_id"`
	Name      string     `json:"name"`
	Scopes    []string   `json:"scopes"`
	CreatedAt time.Time  `json:"created_at"`
	RevokedAt *time.Time `json:"revoked_at"` // nil: live
}

// Lookup finds the caller of a bearer credential; false for one that is
// malformed, unknown or revoked. It takes no lock, allocates nothing and
// compares in constant time.
func (d *Directory) Lookup(bearer string) (Caller, bool) { return d.index.lookup(bearer) }

// Authenticate is Lookup for the endpoints that need no more than the principal.
func (d *Directory) Authenticate(bearer string) (httpapi.Principal, bool) {
	c, ok := d.index.lookup(bearer)
	return c.Principal(), ok
}

// Project returns a project by id.
func (d *Directory) Project(id string) (Project, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	p, ok := d.state.projects[id]
	if !ok {
		return Project{}, false
	}
	return p.view(), true
}

// Projects returns up to limit projects, newest first, that are older in the
// log than the project after ("": from the newest). False: after is unknown.
func (d *Directory) Projects(after string, limit int) ([]Project, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return newestFirst(d.state.order, after, limit, func(id string) Project { return d.state.projects[id].view() })
}

// Keys returns up to limit keys of a project, revoked ones too, newest first,
// that are older in the log than the key after. False: no such project, or after is none of its keys.
func (d *Directory) Keys(projectID, after string, limit int) ([]Key, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	p, ok := d.state.projects[projectID]
	if !ok {
		return nil, false
	}
	return newestFirst(p.keys, after, limit, func(id string) Key { return d.state.keys[id].view() })
}

// UnreadableSecrets is how many projects have a webhook secret that this node's master keys do not open.
func (d *Directory) UnreadableSecrets() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.index.unreadable)
}

func (d *Directory) key(projectID, keyID string) (Key, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	k, ok := d.state.keys[keyID]
	if !ok || k.project != projectID {
		return Key{}, false
	}
	return k.view(), true
}

func newestFirst[T any](ids []string, after string, limit int, view func(string) T) ([]T, bool) {
	i, found := len(ids)-1, after == ""
	for ; !found && i >= 0; i-- {
		found = ids[i] == after
	}
	out := []T{}
	for ; i >= 0 && len(out) < limit; i-- {
		out = append(out, view(ids[i]))
	}
	return out, found
}

func (p *project) view() Project {
	return Project{ID: p.id, Name: p.name, CreatedAt: p.created.UTC(), Operator: p.operator, Limits: p.limits}
}

func (k *key) view() Key {
	v := Key{ID: k.id, ProjectID: k.project, Name: k.name, Scopes: k.scopes.Names(), CreatedAt: k.created.UTC()}
	if !k.revoked.IsZero() {
		at := k.revoked.UTC()
		v.RevokedAt = &at
	}
	return v
}
