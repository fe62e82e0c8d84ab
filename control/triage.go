package control

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"weir/eventlog"
	"weir/internal/httpapi"
)

// ErrorGroup is what triage needs to know of a group.
type ErrorGroup struct {
	ProjectID string
	// Fingerprint the group is shown under, and Asked what was asked for: they
	// differ when that was merged into another group, or is its older name.
	Fingerprint, Asked string
	Count              int64 // occurrences in all
}

// ErrorGroups finds groups in the read model. Find waits, up to a few seconds,
// until the positions are folded, and looks in one project, in every one when
// project is "". Its errors are *httpapi.Error: not_found, or that the read
// model cannot answer. It may be called by many goroutines.
type ErrorGroups interface {
	Find(ctx context.Context, project, fingerprint string, folded eventlog.Positions) (ErrorGroup, error)
}

// Triage decides about error groups: every decision is an event of weir.control
// with who, when and why, so it outlives every rebuild and can be taken back by
// another. Safe for concurrent use.
type Triage struct {
	commands *Commands
	groups   ErrorGroups
	last     atomic.Int64 // the offset after this node's last decision
}

// NewTriage joins the commands of a node with the groups they are about.
func NewTriage(c *Commands, g ErrorGroups) *Triage { return &Triage{commands: c, groups: g} }

// The statuses that can be set. regressed is not among them: it is what a
// resolved group becomes by itself.
const (
	StatusUnresolved = "unresolved"
	StatusResolved   = "resolved"
	StatusIgnored    = "ignored"
)

// Bounds of what a decision holds.
const (
	maxReasonRunes   = 1000
	maxReleaseBytes  = 256 // read models cut releases to as much
	maxIgnoredCount  = 1_000_000_000
	maxIgnoredBefore = 2200 // years, as for ts
)

// Decision is what is asked for one group.
type Decision struct {
	Status            string
	ResolvedInRelease string
	IgnoredUntil      *time.Time
	IgnoredUntilCount int64 // further occurrences from now on; 0: no such end
	Reason            string
}

// Decide sets the status of a group. It returns the group and how far
// weir.control must be folded for a read to show it.
func (t *Triage) Decide(ctx context.Context, by httpapi.Principal, project, fingerprint string, d Decision, after eventlog.Positions) (ErrorGroup, eventlog.Positions, error) {
	if err := d.check(t.commands.now()); err != nil {
		return ErrorGroup{}, nil, err
	}
	g, err := t.find(ctx, project, fingerprint, after)
	if err != nil {
		return g, nil, err
	}
	at, err := t.append(ctx, by, g.ProjectID, d.fact(g))
	return g, at, err
}

// Merge shows a group as part of another of the same project. Merging it into
// a group that it is part of already changes nothing; into itself is refused.
func (t *Triage) Merge(ctx context.Context, by httpapi.Principal, project, fingerprint, into, reason string, after eventlog.Positions) (ErrorGroup, eventlog.Positions, error) {
	if err := checkReason(reason); err != nil {
		return ErrorGroup{}, nil, err
	}
	from, err := t.find(ctx, project, fingerprint, after)
	if err != nil {
		return from, nil, err
	}
	to, err := t.find(ctx, from.ProjectID, into, nil)
	if err != nil {
		return to, nil, err
	}
	if from.Fingerprint == to.Fingerprint {
		return to, nil, httpapi.Errorf(httpapi.CodeConflict, "both are the group %s already", to.Fingerprint)
	}
	at, err := t.append(ctx, by, from.ProjectID, groupMerged{Fingerprint: from.Fingerprint, Into: to.Fingerprint, Reason: reason})
	return to, at, err
}

// Unmerge takes the merge of a group into another back: fingerprint is the
// merged group's own.
func (t *Triage) Unmerge(ctx context.Context, by httpapi.Principal, project, fingerprint, reason string, after eventlog.Positions) (ErrorGroup, eventlog.Positions, error) {
	if err := checkReason(reason); err != nil {
		return ErrorGroup{}, nil, err
	}
	g, err := t.find(ctx, project, fingerprint, after)
	if err != nil {
		return g, nil, err
	}
	if g.Fingerprint == g.Asked {
		return g, nil, httpapi.Errorf(httpapi.CodeConflict, "the group is not merged into another; name a fingerprint of its list merged")
	}
	at, err := t.append(ctx, by, g.ProjectID, groupUnmerged{Fingerprint: g.Asked, Reason: reason})
	g.Fingerprint = g.Asked
	return g, at, err
}

// find also waits for what this node decided before, so that one decision
// after the other sees it.
func (t *Triage) find(ctx context.Context, project, fingerprint string, after eventlog.Positions) (ErrorGroup, error) {
	if !isFingerprint(fingerprint) {
		return ErrorGroup{}, httpapi.NotFound("error group")
	}
	if last := t.last.Load(); last > 0 {
		after = append(after[:len(after):len(after)], eventlog.Position{Topic: eventlog.ControlTopic, Next: last})
	}
	return t.groups.Find(ctx, project, fingerprint, after)
}

func (t *Triage) append(ctx context.Context, by httpapi.Principal, project string, f fact) (eventlog.Positions, error) {
	next, err := t.commands.runTo(ctx, actor(by), project, decided{project, f})
	if err != nil {
		return nil, err
	}
	for {
		last := t.last.Load()
		if next <= last || t.last.CompareAndSwap(last, next) {
			return eventlog.Positions{{Topic: eventlog.ControlTopic, Partition: controlPartition, Next: next}}, nil
		}
	}
}

// decided is a command whose decision was made against the read model.
type decided struct {
	project string
	fact    fact
}

func (d decided) name() string { return "triage_" + strings.TrimPrefix(d.fact.kind(), "group.") }

func (d decided) decide(s *state) ([]fact, error) {
	if s.projects[d.project] == nil {
		return nil, httpapi.NotFound("error group")
	}
	return []fact{d.fact}, nil
}

func (d Decision) fact(g ErrorGroup) fact {
	switch d.Status {
	case StatusResolved:
		return groupResolved{Fingerprint: g.Fingerprint, Release: d.ResolvedInRelease, Reason: d.Reason}
	case StatusIgnored:
		f := groupIgnored{Fingerprint: g.Fingerprint, Reason: d.Reason}
		if d.IgnoredUntil != nil {
			f.Until = d.IgnoredUntil.UTC().Format(time.RFC3339Nano)
		}
		if d.IgnoredUntilCount > 0 {
			f.Count = g.Count + d.IgnoredUntilCount
		}
		return f
	}
	return groupReopened{Fingerprint: g.Fingerprint, Reason: d.Reason}
}

// check names every field that is wrong.
func (d Decision) check(now time.Time) error {
	var bad []httpapi.ParamProblem
	no := func(field, reason string) { bad = append(bad, httpapi.ParamProblem{Name: field, Reason: reason}) }
	switch d.Status {
	case StatusUnresolved, StatusResolved, StatusIgnored:
	case "":
		no("status", "required")
	default:
		no("status", "must be one of resolved, ignored, unresolved")
	}
	if r := d.ResolvedInRelease; r != "" {
		switch {
		case d.Status != StatusResolved:
			no("resolved_in_release", "goes with status resolved only")
		case len(r) > maxReleaseBytes || !utf8.ValidString(r) || strings.ContainsFunc(r, unicode.IsControl):
			no("resolved_in_release", fmt.Sprintf("must be at most %d bytes without control characters", maxReleaseBytes))
		}
	}
	if (d.IgnoredUntil != nil || d.IgnoredUntilCount != 0) && d.Status != StatusIgnored {
		no("ignored_until", "goes with status ignored only, like ignored_until_count")
	} else if u := d.IgnoredUntil; u != nil && (!u.After(now) || u.UTC().Year() > maxIgnoredBefore) {
		no("ignored_until", "must be a time to come, up to the year 2200")
	}
	if n := d.IgnoredUntilCount; n < 0 || n > maxIgnoredCount {
		no("ignored_until_count", fmt.Sprintf("must be a whole number from 1 to %d: further occurrences", maxIgnoredCount))
	}
	if err := checkReason(d.Reason); err != nil {
		no("reason", fmt.Sprintf("must be at most %d characters", maxReasonRunes))
	}
	return httpapi.FieldErrors(bad...)
}

func checkReason(reason string) error {
	if !utf8.ValidString(reason) || utf8.RuneCountInString(reason) > maxReasonRunes {
		return httpapi.FieldErrors(httpapi.ParamProblem{Name: "reason", Reason: fmt.Sprintf("must be at most %d characters", maxReasonRunes)})
	}
	return nil
}

func isFingerprint(s string) bool {
	const digits = 32
	if len(s) != digits {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
