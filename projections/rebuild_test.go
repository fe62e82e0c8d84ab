package projections

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"weir/eventlog"
	"weir/projections/foldtest"
)

func rebuildsOf(e *foldtest.Engines, p Projection) Rebuilds {
	return Rebuilds{Log: e.Log, ClickHouse: e.Conn, Projections: []Projection{p}}
}

// waitSurvey waits until the tables are as they should be.
func waitSurvey(t testing.TB, e *foldtest.Engines, what string, is func(*survey) bool) {
	t.Helper()
	var last *survey
	for deadline := time.Now().Add(40 * time.Second); time.Now().Before(deadline); pause(context.Background(), 20*time.Millisecond) {
		s, err := look(context.Background(), e.Conn)
		if err != nil {
			continue
		}
		if last = s; is(s) {
			return
		}
	}
	for name, table := range last.tables {
		t.Logf("%s: %s", name, table.mark.Text())
	}
	t.Fatalf("%s: not within 40 s", what)
}

// swapped reports that a generation is live, alone, and nothing is under way.
func swapped(generation int) func(*survey) bool {
	return func(s *survey) bool {
		p := tallyProjection()
		m, ok := s.live(p)
		_, building := s.building(p)
		return ok && m.Generation.Generation == generation && !s.mixed(p) && !building && m.State == ""
	}
}

// feeder appends while something else goes on.
type feeder struct {
	mu   sync.Mutex
	next int
	ends []eventlog.Position
}

// add appends a hundred records to every partition.
func (f *feeder) add(t testing.TB, e *foldtest.Engines, partitions int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p := range partitions {
		values := append(numbers(f.next, f.next+99), "bad")
		f.ends = append(f.ends, e.Append(t, topicUnderTest, p, "k", foldtest.Received, values...))
	}
	f.next += 100
}

// reader polls the counts and reports what no reader may see: an error, nothing,
// or less than before.
func reader(t testing.TB, e *foldtest.Engines) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	reading.Go(func() {
		var lines, tallied uint64
		reads := 0
		for ctx.Err() == nil {
			for query, before := range map[string]*uint64{"SELECT count() FROM lines": &lines, "SELECT sum(records) FROM tally": &tallied} {
				var now uint64
				if err := e.Conn.QueryRow(context.Background(), query).Scan(&now); err != nil {
					t.Errorf("%s: %v", query, err)
				} else if now < *before || now == 0 {
					t.Errorf("%s: %d after %d", query, now, *before)
				}
				*before = now
				reads++
			}
			pause(ctx, 5*time.Millisecond)
		}
		t.Logf("%d reads", reads)
	})
	stop = func() { cancel(); reading.Wait() }
	t.Cleanup(stop)
	return stop
}

// A rebuild while records arrive and readers poll: the new tables hold the same,
// the old ones are kept, nobody sees less than before.
func TestRebuild(t *testing.T) {
	const partitions = 2
	e := foldtest.Start(t, partitions)
	var f feeder
	for range 10 {
		f.add(t, e, partitions)
	}
	start(t, newProjector(t, e, partitions))
	waitFolded(t, e, tallyProjection(), f.ends...)
	stopReading := reader(t, e)
	r := rebuildsOf(e, tallyProjection())
	for range 3 { // asking again changes nothing
		if g, err := r.Ask(t.Context(), "tally", false); err != nil || g != 2 {
			t.Fatalf("generation %d, error %v", g, err)
		}
	}
	began := time.Now()
	feeding, stopFeeding := context.WithCancel(t.Context())
	var feed sync.WaitGroup
	feed.Go(func() {
		for feeding.Err() == nil {
			f.add(t, e, partitions)
			pause(feeding, 300*time.Millisecond)
		}
	})
	waitSurvey(t, e, "generation 2 is live", swapped(2))
	stopFeeding()
	feed.Wait()
	t.Logf("swapped after %v", time.Since(began))
	waitFolded(t, e, tallyProjection(), f.ends...)
	stopReading()
	checkGeneration(t, e, partitions, f.next, 2)

	if g, err := r.Rollback(t.Context(), "tally"); err != nil || g != 1 {
		t.Fatalf("rolling back to generation %d, error %v", g, err)
	}
	waitSurvey(t, e, "generation 1 is live again", swapped(1))
	f.add(t, e, partitions)
	waitFolded(t, e, tallyProjection(), f.ends...)
	checkGeneration(t, e, partitions, f.next, 1)
	if dropped, err := r.DropOld(t.Context(), "tally"); err != nil || fmt.Sprint(dropped) != "[2]" {
		t.Errorf("dropped %v, error %v", dropped, err)
	}
	if _, err := r.Rollback(t.Context(), "tally"); err == nil {
		t.Error("rolled back to a dropped generation")
	}
}

// checkGeneration is checkOnce for the quarantine of one generation.
func checkGeneration(t *testing.T, e *foldtest.Engines, partitions, records, generation int) {
	t.Helper()
	var others uint64
	if err := e.Conn.QueryRow(t.Context(), "SELECT count() FROM quarantine WHERE generation = ?", generation).Scan(&others); err != nil {
		t.Fatal(err)
	}
	if others != uint64(partitions*records/100) {
		t.Errorf("%d records are in quarantine for generation %d instead of %d", others, generation, partitions*records/100)
	}
	got := readSums(t, e)
	want := expected(partitions, records)
	got.quarantined = want.quarantined
	if got != want {
		t.Errorf("tables hold %+v instead of %+v", got, want)
	}
}

// The projector is killed at every step of folding and leading, at random, while
// a rebuild goes on; the rebuild ends all the same, with the right content.
func TestRebuildThroughCrashes(t *testing.T) {
	const partitions = 2
	e := foldtest.Start(t, partitions)
	random := rand.New(rand.NewPCG(seed(t), 3))
	var fed feeder
	for range 10 {
		fed.add(t, e, partitions)
	}
	f := &faults{rand: random, left: 10}
	stop := runWithFaults(t, e, partitions, f)
	waitFolded(t, e, tallyProjection(), fed.ends...)
	f.mu.Lock()
	f.left = 40
	f.mu.Unlock()
	if _, err := rebuildsOf(e, tallyProjection()).Ask(t.Context(), "tally", false); err != nil {
		t.Fatal(err)
	}
	waitSurvey(t, e, "generation 2 is live", swapped(2))
	fed.add(t, e, partitions)
	waitFolded(t, e, tallyProjection(), fed.ends...)
	stop()
	t.Logf("%d faults: %v", len(f.log), f.log)
	checkGeneration(t, e, partitions, fed.next, 2)
}

// A topic so small that the leader finds the rebuild caught up before anybody has made its other tables:
// it makes them itself, before its group has a checkpoint. It once joined first, and the rebuild hung, halted
// over a table that seemed to have been dropped (60ce26f).
func TestRebuildOfASmallTopicIsNotHalted(t *testing.T) {
	e := foldtest.Start(t, 1)
	var f feeder
	f.add(t, e, 1)
	stop := start(t, newProjector(t, e, 1))
	waitFolded(t, e, tallyProjection(), f.ends...)
	stop()
	if _, err := rebuildsOf(e, tallyProjection()).Ask(t.Context(), "tally", false); err != nil {
		t.Fatal(err)
	}
	leader := newProjector(t, e, 1) // nobody fills the new generation but the leader
	for range 40 {
		err := leader.step(t.Context(), tallyProjection())
		if halted(err) {
			t.Fatal(err)
		}
		if s, err := look(t.Context(), e.Conn); err == nil && swapped(2)(s) {
			checkGeneration(t, e, 1, f.next, 2)
			return
		}
	}
	t.Fatal("generation 2 is not live after 40 steps of the leader")
}
