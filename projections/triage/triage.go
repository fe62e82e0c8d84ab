// Package triage folds what people decided about error groups out of
// weir.control: one row per decision. It is a projection of its own beside
// errorgroups, so that a rebuild of the groups, under another algorithm too,
// touches no decision, and a rebuild of this one reads a small topic.
//
// It folds the JSON that package control writes, of which this is the contract:
//
//	{"v":1,"kind":"group.resolved","at":"2026-11-21T02:33:00Z","by":"key:…","project":"prj_…",
//	 "data":{"fingerprint":"32 hex digits","release":"1.4.0","reason":"…"}}
//
// with the kinds group.resolved, group.ignored (until, count), group.reopened,
// group.merged (into) and group.unmerged. All other kinds are passed over. The
// log is the order: the row keeps the record's offset, and nothing here depends
// on what came before.
package triage

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"weir/eventlog"
	"weir/projections"
	"weir/projections/errorgroups/releases"
	"weir/readmodel/tables"
)

// Name of the projection.
const Name = "triage"

// Version of the fold.
const Version = 2

// Projection folds weir.control.
func Projection() projections.Projection {
	return projections.Projection{
		Name:     Name,
		Version:  Version,
		Topics:   []string{eventlog.ControlTopic},
		Tables:   []tables.Table{tables.ErrorTriage()},
		Measures: []projections.Measure{{Table: tables.ErrorTriage(), Rows: "count()", Partition: "0", Of: decided}},
		New:      func() projections.Fold { return &fold{} },
	}
}

const (
	kindPrefix    = "group."
	newestVersion = 1
)

// decision is the part of a control record that is common to all kinds.
type decision struct {
	V       int       `json:"v"`
	Kind    string    `json:"kind"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Project string    `json:"project"`
	Data    struct {
		Fingerprint string    `json:"fingerprint"`
		Release     string    `json:"release"`
		Until       time.Time `json:"until"`
		Count       int64     `json:"count"`
		Into        string    `json:"into"`
		Reason      string    `json:"reason"`
	} `json:"data"`
}

var (
	errNewer       = errors.New("decision was written by a newer version of the service")
	errUnknownKind = errors.New("decision of an unknown kind")
	errNoProject   = errors.New("decision names no project")
	errFingerprint = errors.New("fingerprint is not 32 hexadecimal digits")
)

type fold struct{ rows rows }

// Add keeps a decision. Records of other kinds hold keys and secrets: they are
// left alone without a look at their data.
func (f *fold) Add(r *eventlog.Record) error {
	var kind struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(r.Value, &kind) != nil || !strings.HasPrefix(kind.Kind, kindPrefix) {
		return nil // the Directory reports what cannot be read at all
	}
	var d decision
	if err := json.Unmarshal(r.Value, &d); err != nil {
		return fmt.Errorf("decision about an error group: %w", err)
	}
	name := strings.TrimPrefix(d.Kind, kindPrefix)
	switch {
	case d.V > newestVersion:
		return errNewer
	case !known(name):
		return fmt.Errorf("%w: %q", errUnknownKind, name)
	case d.Project == "":
		return errNoProject
	}
	return f.rows.add(name, &d, r.Offset)
}

func known(kind string) bool {
	switch kind {
	case tables.TriageResolved, tables.TriageIgnored, tables.TriageReopened, tables.TriageMerged, tables.TriageUnmerged:
		return true
	}
	return false
}

func (f *fold) Blocks() []projections.Block { return []projections.Block{f.rows.block()} }

func (f *fold) Reset() { f.rows = rows{} }

// fingerprint is 16 raw bytes; an absent one is all zero if that is allowed.
func fingerprint(digits string, optional bool) (string, error) {
	if digits == "" && optional {
		return string(make([]byte, 16)), nil
	}
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != 16 {
		return "", errFingerprint
	}
	return string(b), nil
}

const releaseBytes = 256 // errorgroups cuts releases to as much

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func clampTime(t time.Time) time.Time {
	if t.Year() < 1970 || t.Year() > 2200 {
		return time.Unix(0, 0).UTC()
	}
	return t.UTC()
}

// rows are the columns of tables.ErrorTriage.
type rows struct {
	project, fingerprint []string
	offset               []int64
	kind                 []string
	at                   []time.Time
	by, reason           []string
	release, releaseKey  []string
	until                []time.Time
	count                []uint64
	into                 []string
}

func (t *rows) add(kind string, d *decision, offset int64) error {
	group, err := fingerprint(d.Data.Fingerprint, false)
	if err != nil {
		return err
	}
	into, err := fingerprint(d.Data.Into, kind != tables.TriageMerged)
	if err != nil {
		return fmt.Errorf("into: %w", err)
	}
	release := cut(d.Data.Release, releaseBytes)
	t.project, t.fingerprint = append(t.project, d.Project), append(t.fingerprint, group)
	t.offset, t.kind = append(t.offset, offset), append(t.kind, kind)
	t.at, t.by, t.reason = append(t.at, clampTime(d.At)), append(t.by, d.By), append(t.reason, d.Data.Reason)
	t.release, t.releaseKey = append(t.release, release), append(t.releaseKey, releases.Key(release))
	t.until, t.count = append(t.until, clampTime(d.Data.Until)), append(t.count, uint64(max(0, d.Data.Count)))
	t.into = append(t.into, into)
	return nil
}

func (t *rows) block() projections.Block {
	return projections.Block{
		Table:   tables.ErrorTriage(),
		Columns: []any{t.project, t.fingerprint, t.offset, t.kind, t.at, t.by, t.reason, t.release, t.releaseKey, t.until, t.count, t.into},
		Rows:    len(t.project),
	}
}
