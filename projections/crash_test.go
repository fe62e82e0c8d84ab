package projections

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"weir/eventlog"
	"weir/projections/foldtest"
)

// faults decides before and after every step what goes wrong. Each can go wrong
// in two ways, not applied and applied but not reported, and either kills the
// projector or is an error that it sees.
type faults struct {
	mu   sync.Mutex
	rand *rand.Rand
	left int    // how many are still to come
	kill func() // ends the projector at once
	log  []string
}

var errFault = errors.New("fault of the test")

func (f *faults) around(name string, failure error, apply func() error) error {
	f.mu.Lock()
	what := -1
	if f.left > 0 && f.rand.IntN(4) == 0 {
		what = f.rand.IntN(4)
		f.left--
		f.log = append(f.log, fmt.Sprintf("%s:%d", name, what))
	}
	kill := f.kill
	f.mu.Unlock()
	switch what {
	case 0: // killed before
		kill()
		return context.Canceled
	case 1: // killed after
		err := apply()
		kill()
		return errors.Join(err, context.Canceled)
	case 2: // failed, not applied
		return failure
	case 3: // failed, yet applied
		return errors.Join(failure, apply())
	}
	return apply()
}

type faultySink struct {
	sink
	*faults
}

func (s faultySink) insert(ctx context.Context, token string, b Block) error {
	return s.around("insert "+b.Table.Name, errFault, func() error { return s.sink.insert(ctx, token, b) })
}

type faultyCommits struct {
	commits
	*faults
}

func (c faultyCommits) Plan(ctx context.Context, tp eventlog.TopicPartition, from, to int64, before, last eventlog.Witness) error {
	return c.around("plan", eventlog.ErrUnavailable, func() error { return c.commits.Plan(ctx, tp, from, to, before, last) })
}

func (c faultyCommits) Advance(ctx context.Context, tp eventlog.TopicPartition, to int64, before eventlog.Witness) error {
	return c.around("advance", eventlog.ErrUnavailable, func() error { return c.commits.Advance(ctx, tp, to, before) })
}

// seed is random unless WEIR_TEST_SEED names one, and is printed.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := rand.Uint64()
	if text := os.Getenv("WEIR_TEST_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d (WEIR_TEST_SEED repeats it)", n)
	return n
}

// The projector is killed and made to fail at every step, at random, and started
// again; records span days, so that blocks become several parts. In the end the
// tables hold what one fold would have left.
func TestExactlyOnceThroughCrashes(t *testing.T) {
	const partitions, records, days = 2, 3000, 3
	e := foldtest.Start(t, partitions)
	var ends []eventlog.Position
	for p := range partitions {
		for n := 0; n < records; n += 100 {
			at := foldtest.Received.AddDate(0, 0, -(n / 100 % days))
			values := numbers(n, n+99)
			ends = append(ends, e.Append(t, topicUnderTest, p, "k"+strconv.Itoa(n%7), at, append(values, "bad")...))
		}
	}
	f := &faults{rand: rand.New(rand.NewPCG(seed(t), 0)), left: 60}
	stop := runWithFaults(t, e, partitions, f)
	waitFolded(t, e, tallyProjection(), ends...)
	stop()
	t.Logf("%d faults: %v", len(f.log), f.log)
	checkOnce(t, e, partitions, records)
}

// runWithFaults starts a projector again whenever a fault killed it.
func runWithFaults(t *testing.T, e *foldtest.Engines, partitions int, f *faults) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var lives sync.WaitGroup
	lives.Go(func() {
		for ctx.Err() == nil {
			life, kill := context.WithCancel(ctx)
			p := newProjector(t, e, partitions)
			p.faultySink = func(s sink) sink { return faultySink{s, f} }
			p.faultyCommits = func(c commits) commits { return faultyCommits{c, f} }
			p.faultyExec = func(statement string, run func() error) error {
				return f.around(statement[:min(len(statement), 20)], errFault, run)
			}
			f.mu.Lock()
			f.kill = kill
			f.mu.Unlock()
			_ = p.Run(life)
			kill()
		}
	})
	return func() { cancel(); lives.Wait() }
}

// checkOnce compares with a fold done once over partitions times the numbers
// below records, of which each hundredth is refused.
func checkOnce(t *testing.T, e *foldtest.Engines, partitions, records int) {
	t.Helper()
	if got, want := readSums(t, e), expected(partitions, records); got != want {
		t.Errorf("tables hold %+v instead of %+v", got, want)
	}
}

func expected(partitions, records int) sums {
	var total int64
	for n := range records {
		if n%100 != 99 {
			total += int64(n)
		}
	}
	good := uint64(partitions * records / 100 * 99)
	return sums{
		lines: good, offsets: good, total: total * int64(partitions),
		tallied: good, tallyTotal: total * int64(partitions), quarantined: uint64(partitions * records / 100),
	}
}

// One projector, then two, then one again, while records arrive.
func TestExactlyOnceThroughRebalances(t *testing.T) {
	const partitions, records = 4, 2000
	e := foldtest.Start(t, partitions)
	var ends []eventlog.Position
	add := func(from, to int) {
		for p := range partitions {
			for n := from; n < to; n += 100 {
				ends = append(ends, e.Append(t, topicUnderTest, p, "k", foldtest.Received, append(numbers(n, n+99), "bad")...))
			}
		}
	}
	f := &faults{rand: rand.New(rand.NewPCG(seed(t), 1)), left: 20}
	add(0, 500)
	first := start(t, newProjector(t, e, partitions))
	waitFolded(t, e, tallyProjection(), ends[0])
	add(500, 1000)
	second := runWithFaults(t, e, partitions, f)
	add(1000, 1500)
	waitFolded(t, e, tallyProjection(), ends...)
	first()
	add(1500, records)
	waitFolded(t, e, tallyProjection(), ends...)
	second()
	checkOnce(t, e, partitions, records)
}

// A projector that was paused between its plan and its insert, while another took
// its partition over and went on, inserts what is there already.
func TestStaleOwnerWakes(t *testing.T) {
	e := foldtest.Start(t, 1)
	end := e.Append(t, topicUnderTest, 0, "k", foldtest.Received, append(numbers(0, 99), "bad")...)
	asleep, wake := make(chan struct{}), make(chan struct{})
	wakeUp := sync.OnceFunc(func() { close(wake) })
	stale := newProjector(t, e, 1)
	stale.cfg.BlockRecords = 1000
	stale.faultySink = func(s sink) sink { return &sleepySink{sink: s, asleep: asleep, wake: wake} }
	stopStale := start(t, stale)
	t.Cleanup(wakeUp)
	<-asleep
	// Leaving the group while the insert sleeps is what a session timeout does.
	checkpoints, err := e.Log.Checkpoints(t.Context(), Group("tally", 1), []string{topicUnderTest})
	if err != nil || checkpoints[eventlog.TopicPartition{Topic: topicUnderTest}].Planned != end.Next {
		t.Fatalf("checkpoints %v, error %v; a plan up to %d is expected", checkpoints, err, end.Next)
	}
	// The sleeper keeps its assignment until the rebalance times out; the other
	// projector repeats the same planned block under its own.
	owner := newProjector(t, e, 1)
	g, err := live(t.Context(), e.Conn, e.Log, tallyProjection(), owner.cfg.Tables)
	if err != nil {
		t.Fatal(err)
	}
	target, err := newSink(t.Context(), e.Conn, e.Blocks, g, "", owner.slots)
	if err != nil {
		t.Fatal(err)
	}
	other := &partition{
		projector: owner, projection: tallyProjection(), generation: 1,
		tp: eventlog.TopicPartition{Topic: topicUnderTest}, commits: acceptingCommits{}, sink: target,
		logger: owner.cfg.Logger, counters: owner.metrics.of("tally"),
	}
	if err := other.repeat(t.Context(), 0, end.Next); err != nil {
		t.Fatal(err)
	}
	wakeUp()
	waitFolded(t, e, tallyProjection(), end)
	stopStale()
	checkOnce(t, e, 1, 100)
}

// sleepySink sleeps before its first insert.
type sleepySink struct {
	sink
	once         sync.Once
	asleep, wake chan struct{}
}

func (s *sleepySink) insert(ctx context.Context, token string, b Block) error {
	s.once.Do(func() { close(s.asleep); <-s.wake })
	return s.sink.insert(ctx, token, b)
}

// acceptingCommits stand for those of an owner that the group knows.
type acceptingCommits struct{}

func (acceptingCommits) Plan(context.Context, eventlog.TopicPartition, int64, int64, eventlog.Witness, eventlog.Witness) error {
	return nil
}
func (acceptingCommits) Advance(context.Context, eventlog.TopicPartition, int64, eventlog.Witness) error {
	return nil
}

// Before it repeats an insert, a projector makes sure that it is still the
// owner.
func TestMembershipIsCheckedBeforeALateInsert(t *testing.T) {
	planned := 0
	f := &partition{
		projector: &Projector{}, projection: tallyProjection(), generation: 1,
		commits: countingCommits{plans: &planned}, sink: acceptingSink{}, counters: newMetrics(nil).of("tally"),
	}
	block := newFolding(f.projection.New())
	block.begin(0)
	if _, err := f.insert(t.Context(), block, Block{Table: tallyTable()}, time.Now()); err != nil || planned != 0 {
		t.Errorf("right after the plan: %d plans, error %v", planned, err)
	}
	if _, err := f.insert(t.Context(), block, Block{Table: tallyTable()}, time.Now().Add(-2*membershipAge)); !errors.Is(err, eventlog.ErrStale) || planned != 1 {
		t.Errorf("after a pause: %d plans, error %v; the insert must not happen", planned, err)
	}
}

type countingCommits struct{ plans *int }

func (c countingCommits) Plan(context.Context, eventlog.TopicPartition, int64, int64, eventlog.Witness, eventlog.Witness) error {
	*c.plans++
	return eventlog.ErrStale
}
func (countingCommits) Advance(context.Context, eventlog.TopicPartition, int64, eventlog.Witness) error {
	return nil
}

type acceptingSink struct{}

func (acceptingSink) insert(context.Context, string, Block) error { return nil }
