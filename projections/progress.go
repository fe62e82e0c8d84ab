package projections

import (
	"context"
	"slices"
	"time"

	"weir/eventlog"
	"weir/readmodel/tables"
)

// RebuildProgress is how far the generation that is being built is.
type RebuildProgress struct {
	Generation, Version int
	// State is building, swapping or differing (see tables.State).
	State tables.State
	Since time.Time
	// Rollback says that it is an old generation being caught up.
	Rollback bool
	Accept   bool
	Note     string // what differs
	// Done of Total records are folded, Rate of them a second over the last
	// half minute, and Left is how long the rest takes at that rate: 0 when that
	// is not known.
	Done, Total int64
	Rate        float64
	Left        time.Duration
}

// rateWindow is how many polls back the rate is measured.
const rateWindow = 30

// sample is how far a rebuild was at a time.
type sample struct {
	at         time.Time
	generation int
	done       int64
}

// rebuild measures the generation that is being built; nil when there is none.
func (m *Monitor) rebuild(ctx context.Context, p Projection, s *survey, seen map[eventlog.TopicPartition]*end, now time.Time) (*RebuildProgress, error) {
	mark, ok := s.building(p)
	if !ok {
		m.forget(p.Name)
		return nil, nil
	}
	live, _ := s.live(p)
	r := &RebuildProgress{
		Generation: mark.Generation.Generation, Version: mark.Version, State: mark.State, Since: time.UnixMilli(mark.Since).UTC(),
		Rollback: mark.Generation.Generation < live.Generation.Generation, Accept: mark.Accept, Note: mark.Note,
	}
	checkpoints, err := m.log.Checkpoints(ctx, Group(p.Name, r.Generation), p.Topics)
	if err != nil {
		return nil, err
	}
	for _, topic := range p.Topics {
		for _, e := range m.ends.of(seen, topic) {
			r.Total += e.offset - e.start
			r.Done += max(0, min(checkpoints[e.tp].Offset, e.offset)-e.start)
		}
	}
	r.Rate, r.Left = m.rate(p.Name, sample{now, r.Generation, r.Done}, r.Total)
	return r, nil
}

// rate is records per second over the window, and the time left at it.
func (m *Monitor) rate(projection string, now sample, total int64) (float64, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	samples := m.samples[projection]
	if len(samples) > 0 && samples[0].generation != now.generation {
		samples = nil
	}
	samples = append(samples, now)
	samples = samples[max(0, len(samples)-rateWindow):]
	m.samples[projection] = samples
	first := samples[0]
	seconds := now.at.Sub(first.at).Seconds()
	if seconds <= 0 || now.done <= first.done {
		return 0, 0
	}
	rate := float64(now.done-first.done) / seconds
	return rate, time.Duration(float64(total-now.done) / rate * float64(time.Second))
}

func (m *Monitor) forget(projection string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.samples, projection)
}

// keptGenerations are the old generations that can be rolled back to or dropped.
func keptGenerations(p Projection, s *survey) []int {
	kept := []int{}
	for suffix, mark := range s.others(p) {
		if mark.State == tables.Serving && suffix == tables.GenerationSuffix(mark.Generation.Generation) {
			kept = append(kept, mark.Generation.Generation)
		}
	}
	slices.Sort(kept)
	return kept
}
