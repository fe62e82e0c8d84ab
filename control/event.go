package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// eventVersion is the version of records this code writes. It reads that and
// older ones; a newer record is left to newer nodes.
const eventVersion = 1

// An event is one record of weir.control: the JSON
//
//	{"v":1,"kind":"key.revoked","at":"2026-11-21T02:33:00Z","by":"admin","project":"prj_…","data":{…}}
//
// with the project's id as the record's key, because the project is the entity
// whose history a record belongs to; the ids of its keys are in data.
type event struct {
	at      time.Time // the deciding node's clock; shown, and for triage compared with when errors were seen
	by      string    // "admin", "key:<key id>" or "tenant:<operator project>"
	project string
	data    fact
}

// fact is what an event says happened. Each knows its kind and how a state takes it.
type fact interface {
	kind() string
	apply(s *state, e event) error
}

type projectCreated struct {
	Name string `json:"name"`
}

type projectRenamed struct {
	Name string `json:"name"`
}

// secretSet gives the project its webhook secret, sealed.
type secretSet struct {
	Sealed string `json:"sealed"`
}

// limitsSet changes the limits it names; null puts one back to the default.
type limitsSet struct {
	Limits map[string]Limit `json:"limits"`
}

type operatorSet struct {
	Operator bool `json:"operator"`
}

// keyCreated holds the SHA-256 of the key's whole text, never the text.
type keyCreated struct {
	ID     string   `json:"id"`
	SHA256 []byte   `json:"sha256"`
	Name   string   `json:"name,omitempty"`
	Scopes []string `json:"scopes"`
}

type keyRevoked struct {
	ID string `json:"id"`
}

func (projectCreated) kind() string { return "project.created" }
func (projectRenamed) kind() string { return "project.renamed" }
func (secretSet) kind() string      { return "project.secret_set" }
func (limitsSet) kind() string      { return "project.limits_set" }
func (operatorSet) kind() string    { return "project.operator_set" }
func (keyCreated) kind() string     { return "key.created" }
func (keyRevoked) kind() string     { return "key.revoked" }

// newFact makes the empty fact of a kind, to be decoded into.
var newFact = map[string]func() fact{
	projectCreated{}.kind(): func() fact { return &projectCreated{} },
	projectRenamed{}.kind(): func() fact { return &projectRenamed{} },
	secretSet{}.kind():      func() fact { return &secretSet{} },
	limitsSet{}.kind():      func() fact { return &limitsSet{} },
	operatorSet{}.kind():    func() fact { return &operatorSet{} },
	keyCreated{}.kind():     func() fact { return &keyCreated{} },
	keyRevoked{}.kind():     func() fact { return &keyRevoked{} },
	groupResolved{}.kind():  func() fact { return &groupResolved{} },
	groupIgnored{}.kind():   func() fact { return &groupIgnored{} },
	groupReopened{}.kind():  func() fact { return &groupReopened{} },
	groupMerged{}.kind():    func() fact { return &groupMerged{} },
	groupUnmerged{}.kind():  func() fact { return &groupUnmerged{} },
}

// Why a record is left out of the fold.
var (
	errUndecodable  = errors.New("undecodable")
	errNewerVersion = errors.New("newer_version")
	errUnknownKind  = errors.New("unknown_kind")
	errNoProject    = errors.New("unknown_project")
	errNoKey        = errors.New("unknown_key")
	errDuplicate    = errors.New("duplicate_id")
	errNonsense     = errors.New("nonsense")
)

type wire struct {
	V       int             `json:"v"`
	Kind    string          `json:"kind"`
	At      time.Time       `json:"at"`
	By      string          `json:"by,omitempty"`
	Project string          `json:"project"`
	Data    json.RawMessage `json:"data"`
}

func (e event) encode() ([]byte, error) {
	data, err := json.Marshal(e.data)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", e.data.kind(), err)
	}
	return json.Marshal(wire{eventVersion, e.data.kind(), e.at.UTC(), e.by, e.project, data})
}

// decodeEvent reads a record's value. Members it does not know are left out,
// so that a newer node may add some without a new version.
func decodeEvent(value []byte) (event, error) {
	var w wire
	if err := json.Unmarshal(value, &w); err != nil {
		return event{}, errUndecodable
	}
	if w.V > eventVersion {
		return event{}, errNewerVersion
	}
	make, ok := newFact[w.Kind]
	if !ok {
		return event{}, errUnknownKind
	}
	data := make()
	if json.Unmarshal(w.Data, data) != nil || w.Project == "" {
		return event{}, errUndecodable
	}
	return event{at: w.At, by: w.By, project: w.Project, data: data}, nil
}
