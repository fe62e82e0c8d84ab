package projections

import (
	"sync"
	"testing"
	"time"

	"weir/eventlog"
	"weir/projections/foldtest"
)

func prove(t *testing.T, e *foldtest.Engines, partitions int, q ProofRequest) Proof {
	t.Helper()
	proof, err := newProjector(t, e, partitions).Prove(t.Context(), q, nil)
	if err != nil {
		t.Fatal(err)
	}
	return proof
}

// differences are the lines that differ, by table.
func (p Proof) differences() map[string]ProofLine {
	found := map[string]ProofLine{}
	for _, l := range p.Lines {
		if l.Difference != "" {
			found[l.Table] = l
		}
	}
	return found
}

// The log's count equals the rows while records arrive; rows that are deleted,
// doubled or of another record are found in every table; another project's are not ours.
func TestProve(t *testing.T) {
	const partitions = 2
	e := foldtest.Start(t, partitions)
	var f feeder
	for range 5 {
		f.add(t, e, partitions)
	}
	end := e.Append(t, topicUnderTest, 0, "other", foldtest.Received, numbers(0, 50)...)
	stop := start(t, newProjector(t, e, partitions))
	waitFolded(t, e, tallyProjection(), append(f.ends, end)...)
	q := ProofRequest{Project: "k", Wait: time.Minute}

	var feed sync.WaitGroup
	more := make(chan struct{})
	feed.Go(func() {
		for range 100 {
			select {
			case <-more:
				return
			case <-time.After(100 * time.Millisecond):
				f.add(t, e, partitions)
			}
		}
	})
	for range 3 {
		if proof := prove(t, e, partitions, q); !proof.Equal || len(proof.Lines) != 2 || proof.Lines[0].Quarantined == 0 {
			t.Errorf("untouched tables: %+v", proof)
		}
	}
	close(more)
	feed.Wait()
	waitFolded(t, e, tallyProjection(), f.ends...)

	want := int64(partitions * f.next / 100 * 99)
	proof := prove(t, e, partitions, q)
	for _, l := range proof.Lines {
		if l.Expected != want || l.Rows != want || l.Quarantined != int64(partitions*f.next/100) {
			t.Errorf("%+v: %d rows are expected", l, want)
		}
	}
	if proof.Accepted[logTopic(t)].Events != int64(partitions*f.next) {
		t.Errorf("accepted: %+v", proof.Accepted)
	}
	run := func(sql string) {
		t.Helper()
		if err := e.Conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run("DELETE FROM lines WHERE partition = 1 AND offset = 7")
	run("INSERT INTO tally SETTINGS log_comment = 'tally:1' VALUES ('k', 1, 1)")
	wrong := prove(t, e, partitions, q).differences()
	if wrong["lines"].Rows != want-1 || wrong["tally"].Rows != want+1 {
		t.Errorf("a deleted row and a sum that is too high: %+v", wrong)
	}
	run("INSERT INTO lines SETTINGS log_comment = 'tally:1' SELECT * FROM lines WHERE partition = 1 AND offset = 8")
	wrong = prove(t, e, partitions, q).differences()
	if l := wrong["lines"]; l.Rows != want || l.Difference == "" {
		t.Errorf("a row is missing and another is there twice: %+v", wrong)
	}
	if proof := prove(t, e, partitions, ProofRequest{Project: "other"}); !proof.Equal {
		t.Errorf("another project: %+v", proof)
	}

	stop()
	f.add(t, e, partitions)
	if proof := prove(t, e, partitions, ProofRequest{Project: "other"}); proof.Equal || len(proof.Behind) != partitions || proof.Behind[0].End-proof.Behind[0].Folded != 100 {
		t.Errorf("nobody folds: %+v", proof.Behind)
	}
}

func logTopic(t *testing.T) int {
	t.Helper()
	for i, topic := range eventlog.EventsTopics() {
		if topic == topicUnderTest {
			return i
		}
	}
	t.Fatal("no such topic")
	return 0
}

// A proof of a time counts what was received in it, on both sides.
func TestProveATime(t *testing.T) {
	e := foldtest.Start(t, 1)
	at := foldtest.Received
	var end eventlog.Position
	for i := range 10 {
		end = e.Append(t, topicUnderTest, 0, "k", at.Add(time.Duration(i)*time.Hour), numbers(i*10, i*10+10)...)
	}
	start(t, newProjector(t, e, 1))
	waitFolded(t, e, tallyProjection(), end)
	proof := prove(t, e, 1, ProofRequest{Project: "k", From: at.Add(2 * time.Hour), To: at.Add(5 * time.Hour)})
	lines, tally := proof.Lines[0], proof.Lines[1]
	if !proof.Equal || lines.Rows != 30 || lines.Scope != "time" || tally.Rows != 100 || tally.Scope != "all" {
		t.Errorf("three hours of ten: %+v", proof)
	}
	if proof.Accepted[logTopic(t)].Events != 30 {
		t.Errorf("accepted: %+v", proof.Accepted)
	}
}

// Sums are counted while a projection never pauses: it is held for it.
func TestProveHolds(t *testing.T) {
	e := foldtest.Start(t, 1)
	var f feeder
	f.add(t, e, 1)
	start(t, newProjector(t, e, 1))
	waitFolded(t, e, tallyProjection(), f.ends...)
	p := newProjector(t, e, 1)
	v := &proving{projector: p, asked: ProofRequest{Project: "k"}, accepted: map[string]int64{}, events: map[eventlog.TopicPartition]span{}}
	if err := v.bound(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := v.readHeld(t.Context(), tallyProjection(), tallyProjection().Measures[1:]); err != nil {
		t.Fatal(err)
	}
	if _, err := v.readLog(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if l := v.lines[0].result(); l.Difference != "" || l.Rows != 99 || l.Quarantined != 1 {
		t.Errorf("held: %+v", l)
	}
}
