package projections

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"weir/eventlog"
	"weir/projections/foldtest"
)

func TestMonitor(t *testing.T) {
	e := foldtest.Start(t, 2)
	registry := prometheus.NewRegistry()
	m := NewMonitor(e.Log, e.Conn, []Projection{tallyProjection()}, testLogger(t), registry)
	e.Append(t, topicUnderTest, 0, "a", foldtest.Received, numbers(0, 10)...)
	end := e.Append(t, topicUnderTest, 1, "a", foldtest.Received.Add(time.Minute), numbers(0, 5)...)
	m.poll(t.Context())
	p, err := m.Progress("tally")
	if err != nil || p.Generation != 0 || p.Problem == "" || p.LagRecords != 15 || len(p.Partitions) != 2 {
		t.Fatalf("before folding: %+v, error %v", p, err)
	}
	if age := time.Since(foldtest.Received).Seconds(); p.LagSeconds < 0 || age > 1 && p.LagSeconds == 0 {
		t.Errorf("lag is %v s; the oldest record is %v s old", p.LagSeconds, age)
	}
	if last := m.LastEvent(topicUnderTest); !last.Equal(foldtest.Received.Add(time.Minute)) {
		t.Errorf("last event at %v", last)
	}
	stop := start(t, newProjector(t, e, 2))
	waitFolded(t, e, tallyProjection(), eventlog.Position{Topic: topicUnderTest, Partition: 0, Next: 10}, end)
	m.poll(t.Context())
	p, err = m.Progress("tally")
	if err != nil || p.Generation != 1 || p.Problem != "" || p.LagRecords != 0 || p.LagSeconds != 0 {
		t.Errorf("after folding: %+v, error %v", p, err)
	}
	stop()
	e.Append(t, topicUnderTest, 1, "a", foldtest.Received, "1")
	m.poll(t.Context())
	if p, _ = m.Progress("tally"); p.LagRecords != 1 {
		t.Errorf("lag is %d records instead of 1", p.LagRecords)
	}
	if n := testutil.CollectAndCount(registry, "weir_fold_lag_records"); n != 2 {
		t.Errorf("%d lag metrics instead of 2", n)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	e := foldtest.Start(t, 1)
	m := NewMonitor(e.Log, e.Conn, []Projection{tallyProjection()}, testLogger(t), nil)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := m.Wait(ctx, "tally", eventlog.Positions{{Topic: topicUnderTest, Next: 1}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v instead of the context's", err)
	}
	if err := m.Wait(ctx, "tally", eventlog.Positions{{Topic: "another", Next: 1}}); err != nil {
		t.Errorf("a topic that is not folded: %v", err)
	}
	if err := m.Wait(ctx, "unheard of", nil); !errors.Is(err, ErrUnknownProjection) {
		t.Errorf("error is %v instead of ErrUnknownProjection", err)
	}
}
