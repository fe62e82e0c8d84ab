package eventlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// budgetWait is how long Append waits for room in the budget before it sheds.
const budgetWait = 100 * time.Millisecond

// Append puts a set into one partition, whole and in one record batch, and
// returns the offset of its first record once every in-sync replica has it. Sets
// waiting for the same partition share a record batch and keep their order of
// arrival. The values are copied before Append waits, and an empty set is an error.
//
// Append retries by itself until ctx or Config.AppendTimeout ends. Errors:
// ErrUnavailable (the set may be in the log or get there yet), ErrOverloaded,
// ErrTooLarge, ErrRefused, ErrUnknownTopic and ErrClosed (it is not). It may be
// called at once from everywhere.
func (l *Log) Append(ctx context.Context, topic string, partition int, s Set) (first int64, err error) {
	started := time.Now()
	a, err := l.appender(topic, partition)
	if err != nil {
		return 0, err
	}
	size := setSize(&s)
	if err := a.checkSet(&s, size); err != nil {
		return 0, err
	}
	if err := l.reserve(ctx, size); err != nil {
		return 0, err
	}
	b, delta, err := a.join(&s, size)
	if err != nil {
		l.budget.Release(int64(size))
		return 0, err
	}
	base, err := a.await(ctx, b)
	took := a.acknowledged
	if err != nil {
		took = l.metrics.failed(topic)
	}
	took.Observe(time.Since(started).Seconds())
	return base + int64(delta), err
}

// reserve takes size bytes of the budget, which the record batch gives back.
func (l *Log) reserve(ctx context.Context, size int) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: nothing was appended: %w", ErrUnavailable, context.Cause(ctx))
	}
	if l.budget.TryAcquire(int64(size)) {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, budgetWait)
	defer cancel()
	if l.budget.Acquire(wait, int64(size)) != nil {
		l.metrics.shed.Inc()
		return fmt.Errorf("%w: the limit is %d bytes", ErrOverloaded, l.cfg.AppendBudget)
	}
	return nil
}

// appender appends to one partition. One record batch is under way at a time; the
// others wait in order and take up what arrives meanwhile.
type appender struct {
	log       *Log
	topic     string
	partition int
	frame     []byte // the produce request up to the record batch

	acknowledged prometheus.Observer // seconds of appends

	mu      sync.Mutex
	waiting []*group
	held    int // bytes of all groups that wait or are under way
	sending bool
	closed  bool

	idle     sync.WaitGroup // done while nothing is sent
	producer producer       // belongs to the goroutine that sends
}

// group is one record batch in the making and those who wait for it.
type group struct {
	buf      []byte // produce request, record batch header, records
	batch    recordBatch
	size     int // reserved bytes of the budget
	deadline time.Time
	done     chan struct{} // closed when base and err are final

	waiters int // guarded by appender.mu

	// Of the sending goroutine, final when done is closed.
	sealed    bool // buf has its header
	ambiguous bool // an attempt was sent whose fate is unknown
	retained  bool // a connection may still hold buf
	base      int64
	err       error
}

func (a *appender) checkSet(s *Set, size int) error {
	switch {
	case len(s.Values) == 0:
		return errors.New("empty set: an append has at least one value")
	case s.Indexes != nil && len(s.Indexes) != len(s.Values):
		return fmt.Errorf("set has %d values and %d indexes", len(s.Values), len(s.Indexes))
	}
	return a.log.fits(a.topic, s, size)
}

// Fits is the ErrTooLarge that an Append of the set would give, or nil. Ask it
// before the first of several sets that belong together is appended.
func (l *Log) Fits(topic string, s Set) error { return l.fits(topic, &s, setSize(&s)) }

func (l *Log) fits(topic string, s *Set, size int) error {
	if most := l.cfg.MaxRecordBatchBytes - batchHeader; size > most {
		return fmt.Errorf("%w: %d records of %d bytes in all for %s, the limit is %d", ErrTooLarge, len(s.Values), size, topic, most)
	}
	return nil
}

// join encodes the set into the last waiting group that has room and returns the
// group and the number of records before the set's.
func (a *appender) join(s *Set, size int) (*group, int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, 0, ErrClosed
	}
	if a.held > 0 && a.held+size > a.log.cfg.AppendBudget/2 {
		a.log.metrics.shed.Inc()
		return nil, 0, fmt.Errorf("%w: %s partition %d holds half of the limit of %d bytes", ErrOverloaded, a.topic, a.partition, a.log.cfg.AppendBudget)
	}
	if !a.sending {
		a.sending = true
		a.idle.Add(1)
		go a.run()
	}
	g := a.open(s, size)
	delta := g.batch.count
	g.buf = appendSet(g.buf, s, delta, g.batch.baseTime)
	g.batch.count += len(s.Values)
	g.batch.maxTime = max(g.batch.maxTime, s.Time.UnixMilli())
	g.size += size
	g.waiters++
	a.held += size
	a.log.metrics.held.Add(float64(size))
	return g, delta, nil
}

// open returns a waiting group with room for size more bytes.
func (a *appender) open(s *Set, size int) *group {
	if n := len(a.waiting); n > 0 {
		if g := a.waiting[n-1]; len(g.buf)+size <= groupBytes {
			g.buf = growBuffer(g.buf, size)
			return g
		}
	}
	ms := s.Time.UnixMilli()
	g := &group{
		buf:      growBuffer(grabBuffer(), len(a.frame)+batchHeader+size),
		batch:    recordBatch{baseTime: ms, maxTime: ms, compression: a.log.cfg.Compression},
		deadline: time.Now().Add(a.log.cfg.AppendTimeout),
		done:     make(chan struct{}),
	}
	g.buf = append(g.buf, a.frame...)
	g.buf = g.buf[:len(a.frame)+batchHeader]
	a.waiting = append(a.waiting, g)
	return g
}

// await waits until the group's fate is known, or ctx ends.
func (a *appender) await(ctx context.Context, g *group) (int64, error) {
	select {
	case <-g.done:
		return g.base, g.err
	case <-ctx.Done():
	}
	a.mu.Lock()
	g.waiters--
	a.mu.Unlock()
	return 0, fmt.Errorf("%w: gave up waiting to append to %s partition %d: %w", ErrUnavailable, a.topic, a.partition, context.Cause(ctx))
}

// run sends the waiting groups one after another and ends when there are none.
func (a *appender) run() {
	defer a.idle.Done()
	for {
		g := a.take()
		if g == nil {
			return
		}
		g.base, g.err = a.send(g)
		a.log.metrics.produced(a.topic, g)
		if !g.retained {
			dropBuffer(g.buf)
		}
		g.buf = nil
		a.release(g)
		close(g.done)
	}
}

// close takes no more sets and waits for those that were taken.
func (a *appender) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.idle.Wait()
}

// release gives the group's bytes back.
func (a *appender) release(g *group) {
	a.mu.Lock()
	a.held -= g.size
	a.mu.Unlock()
	a.log.metrics.held.Sub(float64(g.size))
	a.log.budget.Release(int64(g.size))
}

func (a *appender) take() *group {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) == 0 {
		a.sending = false
		return nil
	}
	g := a.waiting[0]
	a.waiting[0] = nil
	a.waiting = a.waiting[1:]
	return g
}

// forsaken reports whether nobody waits for the group any more.
func (a *appender) forsaken(g *group) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return g.waiters == 0
}

const (
	// smallBuffer is what a fresh buffer has; a set grows it to its size at once.
	smallBuffer = 64 << 10

	// keptBuffer is the largest buffer worth keeping: one full group.
	keptBuffer = groupBytes + smallBuffer
)

var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, smallBuffer)
	return &b
}}

func grabBuffer() []byte { return (*buffers.Get().(*[]byte))[:0] }

func dropBuffer(b []byte) {
	if cap(b) <= keptBuffer {
		buffers.Put(&b)
	}
}

// growBuffer makes room for n more bytes, at least doubling when it must copy.
func growBuffer(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	grown := make([]byte, len(b), max(2*cap(b), len(b)+n))
	copy(grown, b)
	return grown
}
