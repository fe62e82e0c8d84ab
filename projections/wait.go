package projections

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"weir/eventlog"
)

// waitEvery is how often a group's checkpoints are read while somebody waits to
// read their own writes, however many wait.
const waitEvery = 25 * time.Millisecond

// wait shares the reading of one projection's checkpoints between all that wait.
type wait struct {
	mu          sync.Mutex
	at          time.Time
	checkpoints map[eventlog.TopicPartition]eventlog.Checkpoint
}

// Wait returns nil when a projection has folded everything before the
// positions, and an error that wraps ctx's when that ends before. Positions in
// topics it does not fold are passed over. Any number of goroutines may wait.
func (m *Monitor) Wait(ctx context.Context, projection string, until eventlog.Positions) error {
	watched := slices.IndexFunc(m.projections, func(p Projection) bool { return p.Name == projection })
	if watched < 0 {
		return fmt.Errorf("%w: %q", ErrUnknownProjection, projection)
	}
	p := m.projections[watched]
	until = slices.DeleteFunc(slices.Clone(until), func(pos eventlog.Position) bool { return !slices.Contains(p.Topics, pos.Topic) })
	if len(until) == 0 {
		return nil
	}
	for {
		folded, err := m.folded(ctx, p)
		if err == nil && covers(folded, until) {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("projection %s has not folded %s yet: %w", projection, until, context.Cause(ctx))
		}
		pause(ctx, waitEvery)
	}
}

// folded reads a projection's checkpoints, unless somebody just did.
func (m *Monitor) folded(ctx context.Context, p Projection) (map[eventlog.TopicPartition]eventlog.Checkpoint, error) {
	w := m.waits[p.Name]
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.at) < waitEvery/2 {
		return w.checkpoints, nil
	}
	generation, err := m.generation(ctx, p)
	if err != nil || generation == 0 {
		return nil, err
	}
	checkpoints, err := m.log.Checkpoints(ctx, Group(p.Name, generation), p.Topics)
	if err != nil {
		return nil, err
	}
	w.at, w.checkpoints = time.Now(), checkpoints
	return checkpoints, nil
}

func covers(folded map[eventlog.TopicPartition]eventlog.Checkpoint, until eventlog.Positions) bool {
	for _, pos := range until {
		c := folded[eventlog.TopicPartition{Topic: pos.Topic, Partition: pos.Partition}]
		if !c.Exists || c.Offset < pos.Next {
			return false
		}
	}
	return true
}
