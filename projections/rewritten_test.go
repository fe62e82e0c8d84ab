package projections

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/segmentio/kafka-go"

	"weir/eventlog"
	"weir/projections/foldtest"
)

// makeAnew deletes the topic, makes it again and fills it with as many records of
// other values. It returns its end.
func makeAnew(t *testing.T, e *foldtest.Engines, records int) (end eventlog.Position) {
	t.Helper()
	client := &kafka.Client{Addr: kafka.TCP(e.Brokers...)}
	deleted, err := client.DeleteTopics(t.Context(), &kafka.DeleteTopicsRequest{Topics: []string{topicUnderTest}})
	if err != nil || deleted.Errors[topicUnderTest] != nil {
		t.Fatalf("deleting the topic: %+v, error %v", deleted, err)
	}
	create := &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{
		Topic: topicUnderTest, NumPartitions: 1, ReplicationFactor: 1,
		ConfigEntries: []kafka.ConfigEntry{{ConfigName: "max.message.bytes", ConfigValue: "33554432"}},
	}}}
	for { // the deletion may be carried out after it is answered
		created, err := client.CreateTopics(t.Context(), create)
		if err == nil && created.Errors[topicUnderTest] == nil {
			break
		}
		pause(t.Context(), waitEvery)
		if t.Context().Err() != nil {
			t.Fatalf("making the topic again: %+v, error %v", created, err)
		}
	}
	e.Log = e.Open(t, 1)
	for n := 0; n < records; n += 100 {
		end = e.Append(t, topicUnderTest, 0, "k", foldtest.Received, numbers(n+1_000_000, n+1_000_100)...)
	}
	return end
}

// commitAs commits what a projector would, as the only member of the group.
func commitAs(t *testing.T, e *foldtest.Engines, c eventlog.Checkpoint) {
	t.Helper()
	m, err := e.Log.Join(t.Context(), Group("tally", 1), []string{topicUnderTest})
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tp := topicPartition(topicUnderTest, 0)
	if c.Planned >= 0 {
		err = a.Plan(t.Context(), tp, c.Offset, c.Planned, c.Before, c.Last)
	} else {
		err = a.Advance(t.Context(), tp, c.Offset, c.Before)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The topic was made anew while no projector ran, and has grown past the checkpoint;
// the group's offsets are still there, as after an unclean leader election. The
// partition halts, nothing of the other log is folded, and a rebuild that is accepted
// puts the tables right.
func TestLogRewrittenBeforeTheCheckpoint(t *testing.T) {
	for name, planned := range map[string]bool{"advanced": false, "planned": true} {
		t.Run(name, func(t *testing.T) {
			e := foldtest.Start(t, 1)
			var f feeder
			f.add(t, e, 1)
			stop := start(t, newProjector(t, e, 1))
			waitFolded(t, e, tallyProjection(), f.ends...)
			stop()
			all, err := e.Log.Checkpoints(t.Context(), Group("tally", 1), []string{topicUnderTest})
			c := all[topicPartition(topicUnderTest, 0)]
			if err != nil || c.Before == (eventlog.Witness{}) {
				t.Fatalf("checkpoint %+v, error %v; it must keep its last record", c, err)
			}
			if planned { // only what is after the checkpoint differs
				c = eventlog.Checkpoint{Offset: 0, Planned: c.Offset, Last: c.Before}
			}
			before := readSums(t, e)
			end := makeAnew(t, e, 1000)
			commitAs(t, e, c)
			p := newProjector(t, e, 1)
			start(t, p)
			if problem := waitProblem(t, p); !problem.Halted || !strings.Contains(problem.Text, "other records than those read before") || !strings.Contains(problem.Text, "--accept") {
				t.Errorf("problem is %+v; it must be halted, say that the log is another and what to do", problem)
			}
			if got := readSums(t, e); got != before {
				t.Errorf("tables hold %+v, before it was %+v", got, before)
			}
			if _, err := rebuildsOf(e, tallyProjection()).Ask(t.Context(), "tally", true); err != nil {
				t.Fatal(err)
			}
			waitSurvey(t, e, "generation 2 is live", swapped(2))
			waitFolded(t, e, tallyProjection(), end)
			if got := readSums(t, e); got.lines != 1000 || got.offsets != 1000 {
				t.Errorf("after the rebuild tables hold %+v, not the 1000 records of the log", got)
			}
		})
	}
}

// The topic is made anew and grows past the checkpoint while a projector is at work: it
// waits for records, or for ClickHouse.
func TestLogRewrittenWhileFolding(t *testing.T) {
	for name, busy := range map[string]bool{"waiting for records": false, "waiting for ClickHouse": true} {
		t.Run(name, func(t *testing.T) {
			e := foldtest.Start(t, 1)
			var f feeder
			p := newProjector(t, e, 1)
			asleep, wake := make(chan struct{}), make(chan struct{})
			wakeUp := sync.OnceFunc(func() { close(wake) })
			t.Cleanup(wakeUp)
			if busy {
				sleep := sync.OnceFunc(func() { close(asleep); <-wake })
				p.faultySink = func(s sink) sink { return drowsySink{s, sleep} }
			}
			for range 8 { // more than the stages before the sink hold
				f.add(t, e, 1)
			}
			start(t, p)
			if busy {
				<-asleep
			} else {
				waitFolded(t, e, tallyProjection(), f.ends...)
			}
			makeAnew(t, e, 2000)
			wakeUp()
			if problem := waitHalt(t, p); !strings.Contains(problem.Text, "has no offset") && !strings.Contains(problem.Text, "other records") {
				t.Errorf("problem is %+v", problem)
			}
			var foreign uint64
			if err := e.Conn.QueryRow(context.Background(), "SELECT count() FROM lines WHERE value >= 1000000").Scan(&foreign); err != nil || foreign > 0 {
				t.Errorf("%d records of the other log are folded, error %v", foreign, err)
			}
		})
	}
}

// waitHalt waits until something takes a human.
func waitHalt(t *testing.T, p *Projector) Problem {
	t.Helper()
	for deadline := t.Context(); ; pause(deadline, waitEvery) {
		for _, problem := range p.Problems() {
			if problem.Halted {
				return problem
			}
		}
		if deadline.Err() != nil {
			t.Fatal("nothing halts")
		}
	}
}
