package projections

import (
	"testing"
	"time"

	"weir/eventlog"
	"weir/projections/foldtest"
	"weir/readmodel/tables"
)

// A second fold equals the tables while records arrive, and a row that was
// changed, dropped or added by hand is named.
func TestVerify(t *testing.T) {
	const partitions = 2
	e := foldtest.Start(t, partitions)
	var f feeder
	for range 10 {
		f.add(t, e, partitions)
	}
	p := newProjector(t, e, partitions)
	start(t, p)
	waitFolded(t, e, tallyProjection(), f.ends...)
	verify := func() Verification {
		t.Helper()
		other := newProjector(t, e, partitions) // as in another process
		other.cfg.BlockRecords = blockRecords
		v, err := other.Verify(t.Context(), "tally", nil)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := verify(); !v.Equal || v.Records != 2000 || v.Generation != 1 {
		t.Fatalf("verification of untouched tables: %+v", v)
	}
	fence := " SETTINGS log_comment = 'tally:1'"
	for _, sql := range []string{
		"ALTER TABLE lines UPDATE value = value + 1 WHERE partition = 1 AND offset = 345 SETTINGS mutations_sync = 2",
		"INSERT INTO tally" + fence + " VALUES ('another', 1, 1)",
	} {
		if err := e.Conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	f.add(t, e, partitions)
	waitFolded(t, e, tallyProjection(), f.ends...)
	v := verify()
	if v.Equal || len(v.Differences) != 2 {
		t.Fatalf("verification of changed tables: %+v", v)
	}
	lines, tally := v.Differences[0], v.Differences[1]
	if lines.Table != "lines" || len(lines.Rows) != 1 || lines.Rows[0].Which != "changed" || lines.Rows[0].Key["offset"] != "345" {
		t.Errorf("the changed row is named as %+v", lines)
	}
	if tally.Table != "tally" || len(tally.Rows) != 1 || tally.Rows[0].Which != "only in the tables" || tally.Rows[0].Key["key"] != "another" {
		t.Errorf("the added row is named as %+v", tally)
	}
	s, err := look(t.Context(), e.Conn)
	if err != nil {
		t.Fatal(err)
	}
	for name := range s.tables {
		if len(s.others(tallyProjection())) > 0 {
			t.Errorf("table %s is left", name)
		}
	}
}

// A rebuild of tables that were changed by hand is not swapped in until that is
// accepted; then the tables are right again.
func TestRebuildThatDiffers(t *testing.T) {
	e := foldtest.Start(t, 1)
	var f feeder
	f.add(t, e, 1)
	start(t, newProjector(t, e, 1))
	waitFolded(t, e, tallyProjection(), f.ends...)
	if err := e.Conn.Exec(t.Context(), "INSERT INTO tally SETTINGS log_comment = 'tally:1' VALUES ('k', 7, 7)"); err != nil {
		t.Fatal(err)
	}
	r := rebuildsOf(e, tallyProjection())
	if _, err := r.Ask(t.Context(), "tally", false); err != nil {
		t.Fatal(err)
	}
	waitSurvey(t, e, "the difference is found", func(s *survey) bool {
		m, ok := s.building(tallyProjection())
		return ok && m.State == tables.Differing && m.Note != ""
	})
	f.add(t, e, 1) // the live generation goes on meanwhile
	waitFolded(t, e, tallyProjection(), f.ends...)
	if _, err := r.Ask(t.Context(), "tally", true); err != nil {
		t.Fatal(err)
	}
	waitSurvey(t, e, "generation 2 is live", swapped(2))
	waitFolded(t, e, tallyProjection(), f.ends...)
	checkGeneration(t, e, 1, f.next, 2)
}

// A rebuild that is canceled leaves nothing behind, and the next one takes
// another number.
func TestCancel(t *testing.T) {
	e := foldtest.Start(t, 1)
	var f feeder
	f.add(t, e, 1)
	stop := start(t, newProjector(t, e, 1))
	waitFolded(t, e, tallyProjection(), f.ends...)
	stop() // nobody builds: the wish alone is there
	r := rebuildsOf(e, tallyProjection())
	for want := 2; want < 4; want++ {
		if g, err := r.Ask(t.Context(), "tally", false); err != nil || g != want {
			t.Fatalf("generation %d, error %v", g, err)
		}
		m, err := e.Log.Join(t.Context(), Group("tally", want), []string{topicUnderTest})
		if err != nil {
			t.Fatal(err)
		}
		a, err := m.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Advance(t.Context(), eventlog.TopicPartition{Topic: topicUnderTest}, 5, eventlog.Witness{}); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if g, err := r.Cancel(t.Context(), "tally"); err != nil || g != want {
			t.Fatalf("canceled generation %d, error %v", g, err)
		}
	}
	waitSurvey(t, e, "nothing is left", func(s *survey) bool { return len(s.others(tallyProjection())) == 0 })
}

// A binary with a newer version builds beside the old one, which goes on folding
// until the swap and then stands aside.
func TestNewVersionTakesOver(t *testing.T) {
	const partitions = 2
	e := foldtest.Start(t, partitions)
	var f feeder
	for range 5 {
		f.add(t, e, partitions)
	}
	old := newProjector(t, e, partitions)
	start(t, old)
	waitFolded(t, e, tallyProjection(), f.ends...)
	stopReading := reader(t, e)
	newer := newProjector(t, e, partitions)
	newer.cfg.Projections[0].Version = 2
	start(t, newer)
	f.add(t, e, partitions)
	waitSurvey(t, e, "generation 2 is live", swapped(2))
	f.add(t, e, partitions)
	waitFolded(t, e, tallyProjection(), f.ends...)
	stopReading()
	checkGeneration(t, e, partitions, f.next, 2)
	for deadline := time.Now().Add(10 * time.Second); len(old.Problems()) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the old binary does not say that it stands aside")
		}
		pause(t.Context(), 20*time.Millisecond)
	}
}
