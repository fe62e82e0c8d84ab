package projections

import (
	"context"
	"errors"
	"math/rand/v2"
	"sort"
	"sync"
	"time"

	"weir/eventlog"
)

// Problem is why a projection or one of its partitions does not go on at the
// moment, as this process sees it.
type Problem struct {
	Projection string
	// Topic and Partition are "" and 0 when it is about the whole projection.
	Topic     string
	Partition int
	Since     time.Time
	Text      string
	// Halted is true when it takes a human; otherwise it is tried again all the
	// time.
	Halted bool
}

// problems are the current ones.
type problems struct {
	mu      sync.Mutex
	current map[problemKey]Problem
}

type problemKey struct {
	projection string
	tp         eventlog.TopicPartition
}

func keyOf(projection string, tp *eventlog.TopicPartition) problemKey {
	k := problemKey{projection: projection}
	if tp != nil {
		k.tp = *tp
	}
	return k
}

// add keeps a problem and reports whether it is a new one.
func (p *problems) add(projection string, tp *eventlog.TopicPartition, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil {
		p.current = map[problemKey]Problem{}
	}
	k := keyOf(projection, tp)
	before, had := p.current[k]
	now := Problem{
		Projection: projection, Topic: k.tp.Topic, Partition: k.tp.Partition,
		Since: time.Now(), Text: err.Error(), Halted: halted(err),
	}
	if had {
		now.Since = before.Since
	}
	p.current[k] = now
	return !had || before.Text != now.Text
}

func (p *problems) solve(projection string, tp *eventlog.TopicPartition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.current, keyOf(projection, tp))
}

// Problems lists what does not go on in this process, by projection, topic and
// partition. It is empty when all is well. Any goroutine may call it.
func (p *Projector) Problems() []Problem {
	p.problems.mu.Lock()
	defer p.problems.mu.Unlock()
	list := make([]Problem, 0, len(p.problems.current))
	for _, problem := range p.problems.current {
		list = append(list, problem)
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.Projection != b.Projection {
			return a.Projection < b.Projection
		}
		if a.Topic != b.Topic {
			return a.Topic < b.Topic
		}
		return a.Partition < b.Partition
	})
	return list
}

// halted reports whether an error takes a human.
func halted(err error) bool {
	for _, target := range []error{
		ErrHalted, eventlog.ErrBehindRetention, eventlog.ErrPastEnd, eventlog.ErrRewritten, eventlog.ErrCorrupt,
		eventlog.ErrUnknownTopic, eventlog.ErrRefused,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// backoff is how long to wait before the next try: 0.1 s doubled up to 5 s with
// jitter, or half a minute for what takes a human.
type backoff struct{ tries int }

func (b *backoff) next(err error) time.Duration {
	if halted(err) {
		return haltedRetry
	}
	d := min(100*time.Millisecond<<min(b.tries, 6), 5*time.Second)
	b.tries++
	return d/2 + rand.N(d/2)
}

// pause waits, or returns early when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
