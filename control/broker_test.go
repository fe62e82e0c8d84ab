package control

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"weir/eventlog"
	"weir/internal/broker"
	"weir/internal/httpapi"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// startBroker serves the log in dir ("": in memory) until stop is called.
func startBroker(t *testing.T, dir string) (addrs []string, stop func()) {
	t.Helper()
	b, err := broker.Start(deadline(t), broker.Config{DataDir: dir, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return b.Addrs(), b.Close
}

// openLog is one node's own connection to the log.
func openLog(t *testing.T, addrs []string) (log *eventlog.Log, closeLog func()) {
	t.Helper()
	log, err := eventlog.Open(deadline(t), eventlog.Config{Brokers: addrs, Embedded: true, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return log, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := log.Close(ctx); err != nil {
			t.Errorf("close the log: %v", err)
		}
	}
}

// TestOnTheBroker runs two nodes on the embedded broker: what one decides the
// other knows, a revoked key is refused there within a second, and after a
// restart of everything all is as it was.
func TestOnTheBroker(t *testing.T) {
	dir := t.TempDir()
	ctx := deadline(t)
	var kept NewProject
	var revoked NewKey
	t.Run("live", func(t *testing.T) {
		addrs, stop := startBroker(t, dir)
		t.Cleanup(stop)
		logHere, closeHere := openLog(t, addrs)
		t.Cleanup(closeHere)
		logThere, closeThere := openLog(t, addrs)
		t.Cleanup(closeThere)
		here, there := startNode(t, logHere), startNode(t, logThere)

		var err error
		if kept, err = here.CreateProject(ctx, admin, "shop"); err != nil {
			t.Fatal(err)
		}
		if revoked, err = here.CreateKey(ctx, admin, kept.Project.ID, "ci", httpapi.ScopeIngest); err != nil {
			t.Fatal(err)
		}
		if err := there.dir.Wait(ctx, here.dir.Next()); err != nil {
			t.Fatal(err)
		}
		if _, ok := there.dir.Lookup(revoked.APIKey.Reveal()); !ok {
			t.Fatal("the other node does not know the key")
		}
		slowest := revocations(t, ctx, here, there, kept.Project.ID)
		t.Logf("slowest of 20 revocations, command begun to refused on the other node: %v", slowest)
		if slowest > time.Second {
			t.Errorf("a revoked key was taken for %v", slowest)
		}
		if err := here.RevokeKey(ctx, admin, kept.Project.ID, revoked.Key.ID); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("restarted", func(t *testing.T) {
		addrs, stop := startBroker(t, dir)
		t.Cleanup(stop)
		log, closeLog := openLog(t, addrs)
		t.Cleanup(closeLog)
		c := startNode(t, log)
		caller, ok := c.dir.Lookup(kept.APIKey.Reveal())
		if !ok || string(caller.SigningKey()) != kept.WebhookSecret.Reveal() {
			t.Errorf("the kept key: %+v, %v", caller, ok)
		}
		if _, ok := c.dir.Lookup(revoked.APIKey.Reveal()); ok {
			t.Error("the revoked key is back")
		}
	})
}

// revocations measures how long a key lives on there after its revocation was asked for here.
func revocations(t *testing.T, ctx context.Context, here, there *Commands, project string) (slowest time.Duration) {
	t.Helper()
	for range 20 {
		k, err := here.CreateKey(ctx, admin, project, "", httpapi.ScopeRead)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := here.RevokeKey(ctx, admin, project, k.Key.ID); err != nil {
			t.Fatal(err)
		}
		if err := there.dir.Wait(ctx, here.dir.Next()); err != nil {
			t.Fatal(err)
		}
		if _, ok := there.dir.Lookup(k.APIKey.Reveal()); ok {
			t.Fatal("read the revocation and still takes the key")
		}
		slowest = max(slowest, time.Since(begun))
	}
	return slowest
}

// TestTwoNodesDecidingAtOnce lets two nodes change the same things without knowing of each other.
func TestTwoNodesDecidingAtOnce(t *testing.T) {
	addrs, stop := startBroker(t, "")
	t.Cleanup(stop)
	ctx := deadline(t)
	var nodes [2]*Commands
	for i := range nodes {
		log, closeLog := openLog(t, addrs)
		t.Cleanup(closeLog)
		nodes[i] = startNode(t, log)
	}
	p, err := nodes[0].CreateProject(ctx, admin, "shop")
	if err != nil {
		t.Fatal(err)
	}
	if err := nodes[1].dir.Wait(ctx, nodes[0].dir.Next()); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	for i, n := range nodes {
		go func() { done <- contend(ctx, n, p, i) }()
	}
	for range nodes {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	end := max(nodes[0].dir.Next(), nodes[1].dir.Next())
	var seen [2]Project
	var keys [2][]Key
	for i, n := range nodes {
		if err := n.dir.Wait(ctx, end); err != nil {
			t.Fatal(err)
		}
		seen[i], _ = n.dir.Project(p.Project.ID)
		keys[i], _ = n.dir.Keys(p.Project.ID, "", 100)
		if _, ok := n.dir.Lookup(p.APIKey.Reveal()); ok {
			t.Error("both revoked it and it is taken")
		}
	}
	if seen[0] != seen[1] || len(keys[0]) != 21 || len(keys[1]) != 21 {
		t.Errorf("the nodes differ: %+v and %+v, %d and %d keys", seen[0], seen[1], len(keys[0]), len(keys[1]))
	}
}

func contend(ctx context.Context, n *Commands, p NewProject, i int) error {
	for round := range 10 {
		name := string(rune('a'+i)) + string(rune('0'+round))
		if _, err := n.ChangeProject(ctx, admin, p.Project.ID, Change{Name: &name, Limits: map[string]Limit{limitEvents: Is(int64(10*i + round))}}); err != nil {
			return err
		}
		if _, err := n.CreateKey(ctx, admin, p.Project.ID, name, httpapi.ScopeRead); err != nil {
			return err
		}
	}
	return n.RevokeKey(ctx, admin, p.Project.ID, p.KeyID)
}
