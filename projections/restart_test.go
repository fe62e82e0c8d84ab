package projections

import (
	"context"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"weir/eventlog"
	"weir/internal/clickhouse"
	"weir/internal/clickhouse/chtest"
	"weir/projections/foldtest"
)

// ClickHouse is killed and comes back, again and again, while records arrive and
// are folded: nothing is missing or doubled in the end, and the projector never
// stops trying.
func TestExactlyOnceThroughClickHouseKills(t *testing.T) {
	random := rand.New(rand.NewPCG(seed(t), 2))
	server, err := clickhouse.Start(t.Context(), chtest.Config(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		_ = server.Close(ctx)
	})
	const kills, records = 4, 5000
	e := foldtest.StartOn(t, 1, server.Access(), "default")
	var ends []eventlog.Position
	add := func(from, to int) {
		for n := from; n < to; n += 100 {
			ends = append(ends, e.Append(t, topicUnderTest, 0, "k", foldtest.Received, append(numbers(n, n+99), "bad")...))
		}
	}
	add(0, records/(kills+1))
	start(t, newProjector(t, e, 1))
	for k := range kills {
		add(records*(k+1)/(kills+1), records*(k+2)/(kills+1))
		middle := ends[len(ends)-1-random.IntN(8)]
		waitFolded(t, e, tallyProjection(), middle)
		if err := syscall.Kill(server.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	waitFolded(t, e, tallyProjection(), ends...)
	checkOnce(t, e, 1, records)
}
