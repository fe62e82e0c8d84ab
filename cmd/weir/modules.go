package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/eventlog"
	"weir/projections"
	"weir/readmodel"
	"weir/schemas"
)

// Bounds between ok, degraded and down.
const (
	lateAfter = time.Minute      // a fold this far behind is degraded
	lostAfter = 15 * time.Second // progress not known for this long: the module cannot answer
)

// serving says which projection answers for an event type: its own where there is one, else the history.
func serving(t schemas.Type) string {
	switch t {
	case schemas.Error:
		return readmodel.ErrorGroups
	case schemas.Webhook:
		return readmodel.Deliveries
	case schemas.Cost:
		return readmodel.Costs
	case schemas.Performance:
		return readmodel.Performance
	default:
		return readmodel.History
	}
}

// modules answers GET /api/{module}/status from what was last observed.
type modules struct{ portal *portal }

// Module reports on one module.
func (m modules) Module(name string) readmodel.ModuleStatus {
	if name == "ingest" {
		return m.ingest()
	}
	for _, t := range schemas.Types() {
		if t.Module() == name {
			return m.folded(t)
		}
	}
	return readmodel.ModuleStatus{Health: readmodel.Down}
}

func (m modules) ingest() readmodel.ModuleStatus {
	s := readmodel.ModuleStatus{Health: readmodel.OK}
	for _, topic := range eventlog.EventsTopics() {
		if at := m.portal.monitor.LastEvent(topic); at.After(s.LastEventAt) {
			s.LastEventAt = at
		}
	}
	if ready := m.portal.ingestReady; ready != nil && ready() != nil {
		s.Health = readmodel.Down
	}
	return s
}

func (m modules) folded(t schemas.Type) readmodel.ModuleStatus {
	topic, projection := eventlog.EventsTopic(t), serving(t)
	progress, err := m.portal.monitor.Progress(projection)
	if err != nil {
		return readmodel.ModuleStatus{Health: readmodel.Down}
	}
	records, seconds := progress.Lag(topic)
	health := m.portal.health(projection, topic, progress)
	if t == schemas.Error && health == readmodel.OK { // groups without their decisions would be half the truth
		if decided, err := m.portal.monitor.Progress(readmodel.Triage); err != nil || m.portal.health(readmodel.Triage, "", decided) != readmodel.OK {
			health = readmodel.Degraded
		}
	}
	if lane := m.portal.lane; t == schemas.Webhook && lane != nil && health == readmodel.OK && len(lane.Problems()) > 0 {
		health = readmodel.Degraded // some deliveries have stopped for good
	}
	var lane *readmodel.LaneStatus
	if t == schemas.Webhook {
		lane = m.lane()
		if lane != nil && lane.OldestSeconds > lateAfter.Seconds() && health == readmodel.OK {
			health = readmodel.Degraded // nobody delivers, or not fast enough
		}
	}
	return readmodel.ModuleStatus{
		Health: health, Lane: lane,
		LagRecords:  records,
		Lag:         time.Duration(seconds * float64(time.Second)),
		LastEventAt: m.portal.monitor.LastEvent(topic),
		Generation:  progress.Generation,
	}
}

// lane is how far behind the webhook lane is; nil while that is not known.
func (m modules) lane() *readmodel.LaneStatus {
	if m.portal.backlog == nil {
		return nil
	}
	b := m.portal.backlog.Latest()
	if b.At.IsZero() {
		return nil
	}
	return &readmodel.LaneStatus{OwedRecords: b.Owed, WaitingDeliveries: b.Waiting, OldestSeconds: b.Oldest.Seconds()}
}

// health judges a projection for one topic; "" judges it for all of its topics.
func (p *portal) health(projection, topic string, progress projections.Progress) readmodel.Health {
	if time.Since(progress.CheckedAt) > lostAfter && time.Since(p.started) > lostAfter {
		return readmodel.Down
	}
	if progress.Problem != "" || p.hasProblem(projection, topic) || p.auditFailed(projection, topic) {
		return readmodel.Degraded
	}
	seconds := progress.LagSeconds
	if topic != "" {
		_, seconds = progress.Lag(topic)
	}
	if seconds > lateAfter.Seconds() {
		return readmodel.Degraded
	}
	return readmodel.OK
}

// problem says in words why a projection does not go on: what the monitor sees, and what the
// projector of this process, when it has one, is stopped by. "" when all is well.
func (p *portal) problem(progress projections.Progress) string {
	texts := []string{}
	if progress.Problem != "" {
		texts = append(texts, progress.Problem)
	}
	if p.projector != nil {
		for _, problem := range p.projector.Problems() {
			if problem.Projection == progress.Projection && !slices.Contains(texts, problem.Text) {
				texts = append(texts, problem.Text)
			}
		}
	}
	if p.auditor != nil {
		for _, finding := range p.auditor.Findings(progress.Projection) {
			texts = append(texts, fmt.Sprintf("audit of %s, %s: %s; `weir verify %s` names the rows", finding.Table, finding.Where(), finding.Text, progress.Projection))
		}
	}
	return strings.Join(texts, "; ")
}

// auditFailed tells whether the last audit found rows missing or repeated.
func (p *portal) auditFailed(projection, topic string) bool {
	if p.auditor == nil {
		return false
	}
	for _, finding := range p.auditor.Findings(projection) {
		if topic == "" || finding.Topic == topic {
			return true
		}
	}
	return false
}

// hasProblem looks at the projector of this process, when it has one.
func (p *portal) hasProblem(projection, topic string) bool {
	if p.projector == nil {
		return false
	}
	for _, problem := range p.projector.Problems() {
		if problem.Projection == projection && (topic == "" || problem.Topic == "" || problem.Topic == topic) {
			return true
		}
	}
	return false
}
