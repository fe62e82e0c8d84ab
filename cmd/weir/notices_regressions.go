package main

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/eventlog"
	"weir/projections/errorgroups/grouping"
	"weir/projections/errorgroups/releases"
	"weir/readmodel"
	"weir/schemas"
	"weir/webhooks"
)

// resolution is a decision that an error group is resolved.
type resolution struct {
	offset  int64 // in weir.control; identifies it
	at      time.Time
	release string
}

// resolutions knows which groups are resolved, from weir.control, so that the read
// model is asked about few events. It errs on the side of asking: what a group is
// called, and whether it is regressed, the read model alone knows. It holds about
// 150 bytes for each group that is resolved or merged.
type resolutions struct {
	log    *eventlog.Log
	chosen grouping.Version
	reader *readmodel.Reader

	mu       sync.Mutex
	projects map[string]*resolvedProject
	next     int64
	moved    chan struct{}
}

type resolvedProject struct {
	resolved map[string]resolution // by fingerprint
	into     map[string]string     // merges
}

func newResolutions(log *eventlog.Log, chosen grouping.Version, reader *readmodel.Reader) *resolutions {
	return &resolutions{log: log, chosen: chosen, reader: reader, projects: map[string]*resolvedProject{}, moved: make(chan struct{})}
}

func (s *resolutions) follow(ctx context.Context) error {
	return s.log.Tail(ctx, eventlog.ControlTopic, eventlog.First, s.take)
}

func (s *resolutions) take(records []eventlog.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range records {
		s.decided(&records[i])
		s.next = records[i].Offset + 1
	}
	close(s.moved)
	s.moved = make(chan struct{})
	return nil
}

// decided folds one record, of the contract that projections/triage tells.
func (s *resolutions) decided(r *eventlog.Record) {
	var d struct {
		Kind, Project string
		At            time.Time
		Data          struct{ Fingerprint, Release, Into string }
	}
	var kind struct{ Kind string } // others hold keys and secrets: they are left alone
	if json.Unmarshal(r.Value, &kind) != nil || !strings.HasPrefix(kind.Kind, "group.") || json.Unmarshal(r.Value, &d) != nil {
		return
	}
	p := s.projects[d.Project]
	if p == nil {
		p = &resolvedProject{map[string]resolution{}, map[string]string{}}
		s.projects[d.Project] = p
	}
	switch d.Kind {
	case "group.resolved":
		p.resolved[d.Data.Fingerprint] = resolution{r.Offset, d.At, d.Data.Release}
	case "group.ignored", "group.reopened":
		delete(p.resolved, d.Data.Fingerprint)
	case "group.merged":
		p.into[d.Data.Fingerprint] = d.Data.Into
	case "group.unmerged":
		delete(p.into, d.Data.Fingerprint)
	}
}

// wait returns when everything before an offset is folded, or with ctx's error.
func (s *resolutions) wait(ctx context.Context, next int64) error {
	for {
		s.mu.Lock()
		done, moved := s.next >= next, s.moved
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// any says whether a project has a resolved group at all: most events end here.
func (s *resolutions) any(project string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.projects[project]
	return p != nil && len(p.resolved) > 0
}

// longestChain bounds how far merges are followed: they may form a circle here.
const longestChain = 100

// latest is the latest resolution of a group under any of its names, or of what those are merged into.
func (s *resolutions) latest(project string, names []string) (found resolution, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.projects[project]
	for _, name := range names {
		for range longestChain {
			if one, had := p.resolved[name]; had && (!ok || one.offset > found.offset) {
				found, ok = one, true
			}
			if name = p.into[name]; name == "" {
				break
			}
		}
	}
	return found, ok
}

// read finds events that may have brought a resolved group back.
func (s *resolutions) read(r *eventlog.Record) []webhooks.Notice {
	project := string(r.Key)
	if !s.any(project) {
		return nil
	}
	e, err := schemas.Open(r.Value)
	if err != nil || e.Type != schemas.Error {
		return nil
	}
	payload, err := grouping.ParsePayload(e.Data)
	if err != nil {
		return nil
	}
	group := s.chosen.Group(project, payload)
	last, ok := s.latest(project, namesOf(project, payload))
	if !ok || !mayRegress(last, r.Time, payload.Release) {
		return nil
	}
	return []webhooks.Notice{{
		Type: "error.group.regressed", First: thing("regression", strconv.FormatInt(last.offset, 10)),
		Check: func(ctx context.Context) (json.RawMessage, bool, error) {
			return s.check(ctx, project, tell(group, payload), last, folded(r))
		},
	}}
}

// namesOf are the event's fingerprints under every known algorithm: decisions may name any of them.
func namesOf(project string, payload grouping.Payload) []string {
	var names []string
	for _, number := range grouping.Versions() {
		if v, err := grouping.Lookup(number); err == nil {
			names = append(names, tell(v.Group(project, payload), payload).Fingerprint)
		}
	}
	return names
}

// mayRegress leaves out events that cannot: received before the decision, or of an earlier release.
func mayRegress(last resolution, received time.Time, release string) bool {
	if !received.Add(time.Millisecond).After(last.at) { // received is of whole milliseconds
		return false
	}
	fixed, seen := releases.Key(last.release), releases.Key(release)
	return last.release == "" || release == last.release || fixed == "" || seen == "" || seen >= fixed
}

func (s *resolutions) check(ctx context.Context, project string, told toldGroup, last resolution, at eventlog.Position) (json.RawMessage, bool, error) {
	decided := eventlog.Position{Topic: eventlog.ControlTopic, Next: last.offset + 1}
	group, err := s.reader.FindGroup(ctx, project, told.Fingerprint, eventlog.Positions{at, decided})
	if isNotFound(err) { // it is in quarantine
		return nil, false, nil
	}
	if err != nil || group.Status != "regressed" {
		return nil, false, err
	}
	told.Fingerprint = group.Fingerprint
	text, err := json.Marshal(struct {
		toldGroup
		Count             int64     `json:"count"`
		ResolvedAt        time.Time `json:"resolved_at"`
		ResolvedInRelease string    `json:"resolved_in_release,omitempty"`
	}{told, group.Count, last.at, last.release})
	return text, err == nil, err
}
