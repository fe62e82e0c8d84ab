package projections

import (
	"context"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go"

	"weir/eventlog"
	"weir/projections/foldtest"
	"weir/readmodel/tables"
)

// forget deletes a group's offset of one partition, and leaves the others.
func forget(t *testing.T, e *foldtest.Engines, group string, partition int) {
	t.Helper()
	client := &kafka.Client{Addr: kafka.TCP(e.Brokers...)}
	response, err := client.OffsetDelete(t.Context(), &kafka.OffsetDeleteRequest{
		GroupID: group, Topics: map[string][]int{topicUnderTest: {partition}},
	})
	if err != nil || response.Error != nil || response.Topics[topicUnderTest][0].Error != nil {
		t.Fatalf("deleting an offset: %+v, error %v", response, err)
	}
}

// One partition's offset is lost, the other's is there: that partition halts and
// says so, the other goes on, and a rebuild puts all right.
func TestOneLostCheckpointHalts(t *testing.T) {
	const partitions = 2
	e := foldtest.Start(t, partitions)
	var f feeder
	f.add(t, e, partitions)
	stop := start(t, newProjector(t, e, partitions))
	waitFolded(t, e, tallyProjection(), f.ends...)
	stop()
	forget(t, e, Group("tally", 1), 1)
	p := newProjector(t, e, partitions)
	start(t, p)
	problem := waitProblem(t, p)
	if !problem.Halted || problem.Partition != 1 || !strings.Contains(problem.Text, "has no offset for "+topicUnderTest+" partition 1") {
		t.Errorf("problem is %+v; partition 1 must be halted", problem)
	}
	f.add(t, e, partitions)
	waitFolded(t, e, tallyProjection(), f.ends[len(f.ends)-2])
	if got := readSums(t, e); got.lines != 3*99 || got.tallied != 3*99 {
		t.Errorf("tables hold %+v; partition 1 must stay as it was", got)
	}
	if _, err := rebuildsOf(e, tallyProjection()).Ask(t.Context(), "tally", false); err != nil {
		t.Fatal(err)
	}
	waitSurvey(t, e, "generation 2 is live", swapped(2))
	waitFolded(t, e, tallyProjection(), f.ends...)
	checkGeneration(t, e, partitions, f.next, 2)
}

// A partition that is added later begins at its first offset.
func TestPartitionsAdded(t *testing.T) {
	e := foldtest.Start(t, 1)
	var f feeder
	f.add(t, e, 1)
	stop := start(t, newProjector(t, e, 1))
	waitFolded(t, e, tallyProjection(), f.ends...)
	client := &kafka.Client{Addr: kafka.TCP(e.Brokers...)}
	response, err := client.CreatePartitions(t.Context(), &kafka.CreatePartitionsRequest{
		Topics: []kafka.TopicPartitionsConfig{{Name: topicUnderTest, Count: 2}},
	})
	if err != nil || response.Errors[topicUnderTest] != nil {
		t.Fatalf("adding a partition: %+v, error %v", response, err)
	}
	stop()
	e.Log = e.Open(t, 2)
	start(t, newProjector(t, e, 2))
	end := e.Append(t, topicUnderTest, 1, "k", foldtest.Received, numbers(0, 50)...)
	waitFolded(t, e, tallyProjection(), end)
	if got := readSums(t, e); got.lines != 99+50 {
		t.Errorf("tables hold %+v instead of %d lines", got, 99+50)
	}
}

// A partition that is added while projectors run is noticed and folded from its first
// offset, what came before they noticed included.
func TestPartitionsAddedWhileFolding(t *testing.T) {
	e := foldtest.Start(t, 1)
	var f feeder
	f.add(t, e, 1)
	for range 2 {
		start(t, newProjector(t, e, 1))
	}
	waitFolded(t, e, tallyProjection(), f.ends...)
	client := &kafka.Client{Addr: kafka.TCP(e.Brokers...)}
	response, err := client.CreatePartitions(t.Context(), &kafka.CreatePartitionsRequest{
		Topics: []kafka.TopicPartitionsConfig{{Name: topicUnderTest, Count: 3}},
	})
	if err != nil || response.Errors[topicUnderTest] != nil {
		t.Fatalf("adding partitions: %+v, error %v", response, err)
	}
	e.Log = e.Open(t, 3)
	first := e.Append(t, topicUnderTest, 2, "k", foldtest.Received, numbers(0, 50)...)
	waitFolded(t, e, tallyProjection(), first)
	second := e.Append(t, topicUnderTest, 1, "k", foldtest.Received, numbers(0, 50)...)
	waitFolded(t, e, tallyProjection(), second)
	if got := readSums(t, e); got.lines != 99+100 || got.tallied != 99+100 {
		t.Errorf("tables hold %+v instead of %d lines", got, 99+100)
	}
}

// A crash between the exchanges of two tables is finished at the next start, and
// nothing is folded before.
func TestHalfASwapIsFinished(t *testing.T) {
	e := foldtest.Start(t, 1)
	var f feeder
	f.add(t, e, 1)
	stop := start(t, newProjector(t, e, 1))
	waitFolded(t, e, tallyProjection(), f.ends...)
	if _, err := rebuildsOf(e, tallyProjection()).Ask(t.Context(), "tally", false); err != nil {
		t.Fatal(err)
	}
	waitSurvey(t, e, "generation 2 is live", swapped(2))
	waitFolded(t, e, tallyProjection(), f.ends...)
	stop()
	for _, back := range []string{tables.Exchange([][2]string{{"tally", "tally__g1"}}), tables.Rename("tally__g1", "tally__g2")} {
		if err := e.Conn.Exec(t.Context(), back); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := look(t.Context(), e.Conn); err != nil || !s.mixed(tallyProjection()) {
		t.Fatalf("the tables are not mixed, error %v", err)
	}
	f.add(t, e, 1)
	start(t, newProjector(t, e, 1))
	waitSurvey(t, e, "the swap is finished", swapped(2))
	waitFolded(t, e, tallyProjection(), f.ends...)
	checkGeneration(t, e, 1, f.next, 2)
}

// Five projectors share seven partitions through a rebuild; one of them is killed.
func TestFiveProjectors(t *testing.T) {
	const partitions = 7
	e := foldtest.Start(t, partitions)
	var f feeder
	f.add(t, e, partitions)
	var stops []func()
	for range 5 {
		stops = append(stops, start(t, newProjector(t, e, partitions)))
	}
	waitFolded(t, e, tallyProjection(), f.ends...)
	if _, err := rebuildsOf(e, tallyProjection()).Ask(context.Background(), "tally", false); err != nil {
		t.Fatal(err)
	}
	f.add(t, e, partitions)
	stops[0]()
	waitSurvey(t, e, "generation 2 is live", swapped(2))
	f.add(t, e, partitions)
	waitFolded(t, e, tallyProjection(), f.ends...)
	checkGeneration(t, e, partitions, f.next, 2)
}

// Tables that were filled from a longer log are replaced by a rebuild that is
// accepted, though their own partition is halted.
func TestRebuildAfterTheLogWasMadeAnew(t *testing.T) {
	e := foldtest.Start(t, 1)
	var f feeder
	f.add(t, e, 1)
	stop := start(t, newProjector(t, e, 1))
	waitFolded(t, e, tallyProjection(), f.ends...)
	stop()
	m, err := e.Log.Join(t.Context(), Group("tally", 1), []string{topicUnderTest})
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Advance(t.Context(), topicPartition(topicUnderTest, 0), 1000, eventlog.Witness{}); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	start(t, newProjector(t, e, 1))
	if _, err := rebuildsOf(e, tallyProjection()).Ask(t.Context(), "tally", true); err != nil {
		t.Fatal(err)
	}
	waitSurvey(t, e, "generation 2 is live", swapped(2))
	f.add(t, e, 1)
	waitFolded(t, e, tallyProjection(), f.ends...)
	checkGeneration(t, e, 1, f.next, 2)
}
