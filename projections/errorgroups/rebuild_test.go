package errorgroups

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/eventlog"
	"weir/projections"
	"weir/projections/foldtest"
	"weir/readmodel/tables"
	"weir/schemas"
)

func algorithm(t *testing.T, number int) projections.Projection {
	t.Helper()
	p, err := ProjectionUnder(number)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Another algorithm is built beside the one that serves, which goes on folding
// what arrives meanwhile; then its groups take the place, and the old names are aliases.
func TestAnotherAlgorithmBesideTheLiveOne(t *testing.T) {
	e := foldtest.Start(t, 2)
	old, next := algorithm(t, 1), algorithm(t, 2)
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
			calls := []string{"pay ship", "pay bill", "login serve"}[sent%3] // where it failed, and who called that
			place, caller, _ := strings.Cut(calls, " ")
			at = append(at, e.Append(t, eventlog.EventsTopic(schemas.Error), sent%2, "p", foldtest.Received, exception("2026-11-21T09:10:00Z",
				fmt.Sprintf(`{"name":"TypeError","message":"x","stack":"TypeError: x\n    at %s (/srv/shop/%s.js:3:1)\n    at %s (/srv/shop/%s.js:9:1)"}`, place, place, caller, caller))))
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
	groups := foldtest.Table(t, e.Conn, "SELECT toString(sum(count)) FROM error_groups GROUP BY fingerprint ORDER BY sum(count)")
	foldtest.Same(t, "groups", groups, []string{"30", "60"})
	aliases := foldtest.Table(t, e.Conn, "SELECT toString(uniqExact(alias)), toString(sum(count)) FROM error_aliases GROUP BY fingerprint ORDER BY sum(count)")
	foldtest.Same(t, "aliases", aliases, []string{"1 | 30", "2 | 60"})
}
