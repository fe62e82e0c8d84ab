package errorgroups

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"weir/eventlog"
	"weir/projections"
	"weir/projections/errorgroups/grouping"
	"weir/projections/foldtest"
	"weir/readmodel/tables"
	"weir/schemas"
)

// Another algorithm is built beside the one that serves, which goes on folding
// what arrives meanwhile; then its groups take the place, and the old names are aliases.
func TestAnotherAlgorithmBesideTheLiveOne(t *testing.T) {
	e := foldtest.Start(t, 2)
	old, next := Projection(), under(byName, []grouping.Version{current(t)})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	run := func(p projections.Projection) {
		projector, err := projections.New(projections.Config{
			Log: e.Log, ClickHouse: e.Conn, Blocks: e.Blocks, Projections: []projections.Projection{p}, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Error(err)
			return
		}
		running.Go(func() { _ = projector.Run(ctx) })
	}
	sent := 0
	send := func(n int) (at []eventlog.Position) {
		for range n {
			name := []string{"Alpha", "Apex", "Beta"}[sent%3]
			at = append(at, e.Append(t, eventlog.EventsTopic(schemas.Error), sent%2, "p", foldtest.Received,
				exception("2026-11-21T09:10:00Z", fmt.Sprintf(`{"name":%q,"message":"%s"}`, name, name))))
			sent++
		}
		return at
	}
	wait := func(what string, check func() bool) {
		t.Helper()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		within, cancel := context.WithTimeout(ctx, 60*time.Second)
		defer cancel()
		for !check() {
			select {
			case <-tick.C:
			case <-within.Done():
				t.Fatalf("%s did not come true", what)
			}
		}
	}
	version := func() int {
		var comment string
		_ = e.Conn.QueryRow(ctx, "SELECT any(comment) FROM system.tables WHERE database = currentDatabase() AND name = 'error_groups'").Scan(&comment)
		g, _ := tables.ParseComment(comment)
		return g.Version
	}
	counted := func() (n uint64) {
		_ = e.Conn.QueryRow(ctx, "SELECT sum(count) FROM error_groups").Scan(&n)
		return n
	}
	send(30)
	run(old)
	wait("the fold under the old algorithm", func() bool { return version() == old.Version && counted() == 30 })
	run(next)
	send(30)
	wait("the new algorithm's tables", func() bool { return version() == next.Version })
	send(30)
	wait("all events under the new algorithm", func() bool {
		var renamed uint64 // the last table of a block
		_ = e.Conn.QueryRow(ctx, "SELECT sum(count) FROM error_aliases").Scan(&renamed)
		return counted() == 90 && renamed == 90
	})
	groups := foldtest.Table(t, e.Conn, "SELECT substring(fingerprint, 1, 2), toString(sum(count)) FROM error_groups GROUP BY fingerprint ORDER BY 1")
	foldtest.Same(t, "groups", groups, []string{"pA | 60", "pB | 30"})
	aliases := foldtest.Table(t, e.Conn, "SELECT substring(fingerprint, 1, 2), toString(uniqExact(alias)), toString(sum(count)) FROM error_aliases GROUP BY fingerprint ORDER BY 1")
	foldtest.Same(t, "aliases", aliases, []string{"pA | 2 | 60", "pB | 1 | 30"})
}
