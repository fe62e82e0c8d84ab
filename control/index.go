package control

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"sync/atomic"

	"weir/internal/httpapi"
)

// Caller is who a bearer belongs to, and what the ingest path needs to know of
// it. Copies share the secret's bytes: read them only.
type Caller struct {
	Admin     bool // the admin token: no project, no signing key
	ProjectID string
	KeyID     string
	Scopes    httpapi.Scope
	Operator  bool // the project may set other projects' limits by tenant events
	Limits    Limits
	secret    Secret
}

// SigningKey is the HMAC key of the project's batches: the whole text of its
// webhook secret. When that cannot be opened here it is random bytes nobody
// knows, never empty, so that no signature matches.
func (c Caller) SigningKey() []byte { return c.secret.Bytes() }

// Principal is the caller as the other endpoints see it.
func (c Caller) Principal() httpapi.Principal {
	return httpapi.Principal{Admin: c.Admin, ProjectID: c.ProjectID, KeyID: c.KeyID, Scopes: c.Scopes}
}

// shards is how many parts the key map has: a change copies one of them, so
// readers need no lock and a change costs little with many keys.
const shards = 256

type keyMap = map[string]*keyEntry

// keyEntry is one live key as readers see it; only its project's cell changes.
type keyEntry struct {
	id      string
	hash    hash
	scopes  httpapi.Scope
	project *projectCell
}

// projectCell is one project as readers see it, replaced whole by each change.
type projectCell = atomic.Pointer[projectView]

type projectView struct {
	id       string
	operator bool
	limits   Limits
	secret   Secret
	sealed   string // what secret was opened from
}

// index answers Lookup. Maps and views are never changed once readers can see
// them. Only the follower publishes.
type index struct {
	keyring    *Keyring
	admin      hash
	shards     [shards]atomic.Pointer[keyMap]
	cells      map[string]*projectCell // the follower's own
	unreadable map[string]bool         // the follower's own: projects whose secret does not open
	reported   int
}

func newIndex(keyring *Keyring, admin Secret) *index {
	x := &index{keyring: keyring, cells: map[string]*projectCell{}, unreadable: map[string]bool{}}
	if admin.Empty() {
		_, _ = rand.Read(x.admin[:]) // the hash of nothing anybody has
	} else {
		x.admin, _ = hashOf(string(admin.Bytes()))
	}
	for i := range x.shards {
		x.shards[i].Store(&keyMap{})
	}
	return x
}

func shardOf(keyID string) int { return (int(keyID[0])*62 + int(keyID[1])) % shards }

// nobody is compared with when a key id is unknown, so that this takes as long.
var nobody keyEntry

// lookup finds the caller of a bearer, in constant time for all well-formed ones.
func (x *index) lookup(bearer string) (Caller, bool) {
	sum, ok := hashOf(bearer)
	if !ok {
		return Caller{}, false
	}
	if subtle.ConstantTimeCompare(sum[:], x.admin[:]) == 1 {
		return Caller{Admin: true, Scopes: httpapi.ScopeAll}, true
	}
	id, ok := keyIDOf(bearer)
	if !ok {
		return Caller{}, false
	}
	k, known := (*x.shards[shardOf(id)].Load())[id]
	if !known {
		k = &nobody
	}
	if subtle.ConstantTimeCompare(sum[:], k.hash[:]) != 1 || !known {
		return Caller{}, false
	}
	p := k.project.Load()
	return Caller{
		ProjectID: p.id, KeyID: k.id, Scopes: k.scopes,
		Operator: p.operator, Limits: p.limits, secret: p.secret,
	}, true
}

// publishAll shows the whole state.
func (x *index) publishAll(s *state) {
	all := make(map[string]bool, len(s.projects))
	for id := range s.projects {
		all[id] = true
	}
	x.publish(s, all)
}

// publish shows the projects named, with their keys, as they are in s.
func (x *index) publish(s *state, projects map[string]bool) {
	changed := map[int]keyMap{}
	for id := range projects {
		p, ok := s.projects[id]
		if !ok {
			continue // the event made no sense and was left out
		}
		cell := x.showProject(p)
		for _, keyID := range p.keys {
			x.showKey(s.keys[keyID], cell, changed)
		}
	}
	for i, keys := range changed {
		x.shards[i].Store(&keys)
	}
}

func (x *index) showProject(p *project) *projectCell {
	cell := x.cells[p.id]
	if cell == nil {
		cell = new(projectCell)
		x.cells[p.id] = cell
	}
	view := &projectView{id: p.id, operator: p.operator, limits: p.limits, sealed: p.sealed}
	if old := cell.Load(); old != nil && old.sealed == p.sealed {
		view.secret = old.secret
	} else {
		view.secret = x.open(p)
	}
	cell.Store(view)
	return cell
}

func (x *index) open(p *project) Secret {
	secret, err := x.keyring.Open(purposeWebhookSecret, p.id, p.sealed)
	if err == nil && !secret.Empty() {
		delete(x.unreadable, p.id)
		return secret
	}
	if p.sealed != "" {
		x.unreadable[p.id] = true
	}
	var b [32]byte
	_, _ = rand.Read(b[:])
	return NewSecret(hex.EncodeToString(b[:]))
}

// showKey adds a live key or takes a revoked one away, copying its shard the first time.
func (x *index) showKey(k *key, cell *projectCell, changed map[int]keyMap) {
	i := shardOf(k.id)
	keys, copied := changed[i]
	if !copied {
		keys = *x.shards[i].Load()
	}
	_, shown := keys[k.id]
	live := k.revoked.IsZero()
	if shown == live {
		return
	}
	if !copied {
		keys = copyOf(keys)
		changed[i] = keys
	}
	if live {
		keys[k.id] = &keyEntry{id: k.id, hash: k.hash, scopes: k.scopes, project: cell}
	} else {
		delete(keys, k.id)
	}
}

func copyOf(keys keyMap) keyMap {
	c := make(keyMap, len(keys)+1)
	for id, k := range keys {
		c[id] = k
	}
	return c
}

func (x *index) unreadableChanged() (int, bool) {
	n := len(x.unreadable)
	changed := n != x.reported
	x.reported = n
	return n, changed
}
