package projections

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"weir/eventlog"
	"weir/projections/foldtest"
	"weir/readmodel/tables"
)

// One projector, records over three days, two refused and two that panic.
func TestFold(t *testing.T) {
	e := foldtest.Start(t, 1)
	for day := range 3 {
		at := foldtest.Received.AddDate(0, 0, -day)
		e.Append(t, topicUnderTest, 0, "a", at, numbers(day*100, day*100+100)...)
	}
	e.Append(t, topicUnderTest, 0, "b", foldtest.Received, "1", "bad record", "2", "panic", "3")
	end := e.Append(t, topicUnderTest, 0, "b", foldtest.Received, "bad again", "panic again", "4")
	start(t, newProjector(t, e, 1))
	waitFolded(t, e, tallyProjection(), end)
	want := sums{lines: 304, offsets: 304, total: 299*150 + 10, tallied: 304, tallyTotal: 299*150 + 10, quarantined: 4}
	if got := readSums(t, e); got != want {
		t.Errorf("tables hold %+v instead of %+v", got, want)
	}
	var reason, payload, project string
	err := e.Conn.QueryRow(t.Context(), "SELECT reason, payload, project_id FROM quarantine ORDER BY offset LIMIT 1").Scan(&reason, &payload, &project)
	if err != nil || reason != "value: not a number" || payload != "bad record" || project != "b" {
		t.Errorf("quarantine has %q, %q, %q, error %v", reason, payload, project, err)
	}
}

// Tables that are dropped while the projector runs are folded again, as another
// generation.
func TestDroppedTablesAreFoldedAgain(t *testing.T) {
	e := foldtest.Start(t, 1)
	end := e.Append(t, topicUnderTest, 0, "a", foldtest.Received, numbers(0, 500)...)
	start(t, newProjector(t, e, 1))
	waitFolded(t, e, tallyProjection(), end)
	for _, table := range tallyProjection().Tables {
		if err := e.Conn.Exec(t.Context(), "DROP TABLE "+table.Name+" SYNC"); err != nil {
			t.Fatal(err)
		}
	}
	end = e.Append(t, topicUnderTest, 0, "a", foldtest.Received, "7")
	waitGeneration(t, e, 2)
	waitFolded(t, e, tallyProjection(), end)
	if got := readSums(t, e); got.lines != 501 || got.tallied != 501 {
		t.Errorf("after folding again the tables hold %+v instead of 501 records", got)
	}
}

func waitGeneration(t testing.TB, e *foldtest.Engines, want int) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		have, err := inspect(context.Background(), e.Conn, tallyProjection())
		if err == nil && have[len(have)-1].generation.Generation == want {
			return
		}
		pause(context.Background(), 20*time.Millisecond)
	}
	t.Fatalf("the tables are not of generation %d after a minute", want)
}

// A projector that believes in an older generation cannot write into the tables
// of a newer one.
func TestFence(t *testing.T) {
	e := foldtest.Start(t, 1)
	p := tallyProjection()
	g, err := live(t.Context(), e.Conn, e.Log, p, tables.Options{Fence: true})
	if err != nil {
		t.Fatal(err)
	}
	insert := func(g tables.Generation) error {
		s, err := newSink(t.Context(), e.Conn, e.Blocks, g, "", make(chan struct{}, 1))
		if err != nil {
			t.Fatal(err)
		}
		return s.insert(t.Context(), "token", Block{Table: tallyTable(), Columns: []any{[]string{"a"}, []uint64{1}, []int64{1}}, Rows: 1})
	}
	old := g
	old.Generation--
	if err := insert(old); !refold(err) {
		t.Errorf("insert of an older generation: %v; it must be refused by the fence", err)
	}
	if err := insert(g); err != nil {
		t.Errorf("insert of this generation: %v", err)
	}
}

// The two cases in which beginning at the first offset would count twice.
func TestHaltsInsteadOfFoldingTwice(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(e *foldtest.Engines) error
		want   string
	}{
		"offsets lost": {
			func(e *foldtest.Engines) error { return e.Log.DeleteGroup(context.Background(), Group("tally", 1)) },
			"no offsets",
		},
		"one of two tables dropped": {
			func(e *foldtest.Engines) error { return e.Conn.Exec(context.Background(), "DROP TABLE tally SYNC") },
			"is missing while its other tables",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := foldtest.Start(t, 1)
			end := e.Append(t, topicUnderTest, 0, "a", foldtest.Received, numbers(0, 10)...)
			stop := start(t, newProjector(t, e, 1))
			waitFolded(t, e, tallyProjection(), end)
			stop()
			if err := c.damage(e); err != nil {
				t.Fatal(err)
			}
			p := newProjector(t, e, 1)
			start(t, p)
			problem := waitProblem(t, p)
			if !problem.Halted || !strings.Contains(problem.Text, c.want) {
				t.Errorf("problem is %+v; it must be halted and say %q", problem, c.want)
			}
		})
	}
}

func waitProblem(t testing.TB, p *Projector) Problem {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		if list := p.Problems(); len(list) > 0 {
			return list[0]
		}
		pause(context.Background(), 10*time.Millisecond)
	}
	t.Fatal("no problem is reported after half a minute")
	return Problem{}
}

// Many projectors that make the tables at once agree on one generation.
func TestLiveAtOnce(t *testing.T) {
	e := foldtest.Start(t, 1)
	const projectors = 6
	got := make(chan tables.Generation, projectors)
	for range projectors {
		go func() {
			g, err := live(context.Background(), e.Conn, e.Log, tallyProjection(), tables.Options{Fence: true})
			if err != nil {
				t.Error(err)
			}
			got <- g
		}()
	}
	want := tables.Generation{Projection: "tally", Version: 1, Generation: 1}
	for range projectors {
		if g := <-got; g != want {
			t.Errorf("generation %+v instead of %+v", g, want)
		}
	}
}

// A log that is shorter than what was folded stops the partition, and says so.
func TestHaltsPastTheEnd(t *testing.T) {
	e := foldtest.Start(t, 1)
	end := e.Append(t, topicUnderTest, 0, "a", foldtest.Received, numbers(0, 10)...)
	stop := start(t, newProjector(t, e, 1))
	waitFolded(t, e, tallyProjection(), end)
	stop()
	m, err := e.Log.Join(t.Context(), Group("tally", 1), []string{topicUnderTest})
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Advance(t.Context(), eventlog.TopicPartition{Topic: topicUnderTest}, 1000, eventlog.Witness{}); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := newProjector(t, e, 1)
	start(t, p)
	if problem := waitProblem(t, p); !problem.Halted || !strings.Contains(problem.Text, "shorter than what") {
		t.Errorf("problem is %+v; it must be halted and say that the log is shorter", problem)
	}
}

// Tables made by a newer version of a fold are left alone.
func TestLeavesANewerVersionAlone(t *testing.T) {
	e := foldtest.Start(t, 1)
	newer := tallyProjection()
	newer.Version = 2
	if _, err := live(t.Context(), e.Conn, e.Log, newer, tables.Options{Fence: true}); err != nil {
		t.Fatal(err)
	}
	p := newProjector(t, e, 1)
	start(t, p)
	if problem := waitProblem(t, p); problem.Halted || !strings.Contains(problem.Text, "of version 2 and this binary folds version 1") {
		t.Errorf("problem is %+v; it must name both versions", problem)
	}
}

// What takes a human says what to do, and is not tried again all the time.
func TestAdvice(t *testing.T) {
	f := &partition{projection: tallyProjection(), generation: 3}
	for err, want := range map[error]string{
		eventlog.ErrBehindRetention: "keep the log longer",
		eventlog.ErrPastEnd:         "restore the log",
		eventlog.ErrCorrupt:         "from a replica or a backup",
	} {
		advice := f.advice(err)
		if !errors.Is(advice, err) || !strings.Contains(advice.Error(), want) {
			t.Errorf("advice is %q; it must wrap %q and say %q", advice, err, want)
		}
		if wait := (&backoff{}).next(advice); wait != haltedRetry {
			t.Errorf("%q is tried again after %v", advice, wait)
		}
	}
	if wait := (&backoff{tries: 100}).next(errFault); wait > 5*time.Second {
		t.Errorf("an error that heals by itself is tried again after %v", wait)
	}
}

// A token names everything that makes an insert different from others.
func TestToken(t *testing.T) {
	got := token("costs", 2, eventlog.TopicPartition{Topic: "weir.events.cost", Partition: 3}, 10, 20, "cost_rollups")
	if want := "costs:2:weir.events.cost:3:[10,20):cost_rollups"; got != want {
		t.Errorf("token is %q instead of %q", got, want)
	}
	if n, ok := generationOf("costs", Group("costs", 12)); n != 12 || !ok {
		t.Errorf("generation %d, %v of group %q", n, ok, Group("costs", 12))
	}
	for _, group := range []string{"weir.costs.g", "weir.costs.gx", "weir.cost.g1", "other"} {
		if n, ok := generationOf("costs", group); ok {
			t.Errorf("group %q is taken for generation %d", group, n)
		}
	}
}
