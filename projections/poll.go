package projections

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"weir/eventlog"
)

// poll reads the ends of the log once and then every projection's checkpoints.
func (m *Monitor) poll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	now := time.Now()
	seen, err := m.ends.read(ctx, m.topics(), now)
	there, missing := look(ctx, m.conn)
	next := map[string]*Progress{}
	for _, p := range m.projections {
		progress := m.last(p.Name)
		if err == nil {
			progress = m.measure(ctx, p, seen, now)
			if missing == nil {
				m.besides(ctx, p, there, seen, now, progress)
			}
		} else {
			progress.Problem = err.Error()
		}
		next[p.Name] = progress
		m.publish(progress)
	}
	m.mu.Lock()
	if err == nil {
		m.ends.keep(seen)
	}
	m.progress = next
	m.mu.Unlock()
	m.lastPoll.Set(float64(now.Unix()))
}

// besides adds what there is of a projection beside its live tables.
func (m *Monitor) besides(ctx context.Context, p Projection, s *survey, seen map[eventlog.TopicPartition]*end, now time.Time, to *Progress) {
	to.Kept = keptGenerations(p, s)
	if r, err := m.rebuild(ctx, p, s, seen, now); err == nil {
		to.Rebuild = r
	}
	if live, ok := s.live(p); ok && live.Version != p.Version {
		to.Version = live.Version
		to.Problem = fmt.Sprintf("its tables are of version %d, this binary is of version %d", live.Version, p.Version)
	}
}

// last is a copy of what was known before.
func (m *Monitor) last(projection string) *Progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := *m.progress[projection]
	return &p
}

func (m *Monitor) topics() []string {
	var topics []string
	known := map[string]bool{}
	for _, p := range m.projections {
		for _, t := range p.Topics {
			if !known[t] {
				known[t] = true
				topics = append(topics, t)
			}
		}
	}
	return topics
}

// measure reads one projection's checkpoints. The ends were read before, so a
// checkpoint may be past them; the lag is never negative.
func (m *Monitor) measure(ctx context.Context, p Projection, seen map[eventlog.TopicPartition]*end, now time.Time) *Progress {
	old := m.last(p.Name)
	g, err := m.generation(ctx, p)
	if err != nil {
		old.Problem = err.Error()
		return old
	}
	progress := &Progress{Projection: p.Name, Version: p.Version, Generation: g, CheckedAt: now}
	checkpoints := map[eventlog.TopicPartition]eventlog.Checkpoint{}
	if g == 0 {
		progress.Problem = "its tables are not made yet"
	} else if checkpoints, err = m.log.Checkpoints(ctx, Group(p.Name, g), p.Topics); err != nil {
		old.Problem = fmt.Sprintf("reading checkpoints: %v", err)
		return old
	}
	for _, topic := range p.Topics {
		for _, e := range m.ends.of(seen, topic) {
			progress.add(e.lag(checkpoints[e.tp], now))
		}
	}
	return progress
}

// generation of the live tables, 0 when there are none. It changes only when
// tables are made or swapped, so it is read every other second.
func (m *Monitor) generation(ctx context.Context, p Projection) (int, error) {
	m.mu.Lock()
	read, ok := m.generations[p.Name]
	m.mu.Unlock()
	if ok && time.Since(read.at) < 2*pollEvery {
		return read.number, nil
	}
	have, err := inspect(ctx, m.conn, Projection{Name: p.Name, Tables: p.Tables[:1]})
	if err != nil {
		return 0, err
	}
	number := have[0].generation.Generation
	if number > 0 {
		m.mu.Lock()
		m.generations[p.Name] = generationRead{number, time.Now()}
		m.mu.Unlock()
	}
	return number, nil
}

// generationRead is a generation and when it was read.
type generationRead struct {
	number int
	at     time.Time
}

func (p *Progress) add(part PartitionProgress) {
	p.Partitions = append(p.Partitions, part)
	p.LagRecords += part.LagRecords
	p.LagSeconds = max(p.LagSeconds, part.LagSeconds)
}

func (m *Monitor) publish(p *Progress) {
	for _, part := range p.Partitions {
		n := strconv.Itoa(part.Partition)
		m.lagRecords.WithLabelValues(p.Projection, part.Topic, n).Set(float64(part.LagRecords))
		m.lagSeconds.WithLabelValues(p.Projection, part.Topic, n).Set(part.LagSeconds)
	}
}
