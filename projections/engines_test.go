package projections

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/eventlog"
	"weir/internal/native"
	"weir/projections/foldtest"
)

// harm is what a proxy does to what goes through a connection.
type harm int

const (
	none       harm = iota
	cutRequest      // half of it arrives: not applied
	loseAnswer      // applied, and the connection ends instead of the answer
	holdAnswer      // applied, and nothing comes until the client has enough
	refuse          // the next connections are not taken
	harms
)

// cutter is a proxy before a server that harms now and then.
type cutter struct {
	listen  net.Listener
	to      string
	mu      sync.Mutex
	rand    *rand.Rand
	left    int // harms to come
	refused int // connections that are still to be refused
	did     [harms]int
}

func startCutter(t *testing.T, to string, random *rand.Rand, cuts int) *cutter {
	t.Helper()
	listen, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{listen: listen, to: to, rand: random, left: cuts}
	t.Cleanup(func() { _ = listen.Close() })
	go func() {
		for {
			conn, err := listen.Accept()
			if err != nil {
				return
			}
			if c.refuses() {
				_ = conn.Close()
				continue
			}
			go c.serve(conn)
		}
	}()
	return c
}

func (c *cutter) refuses() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == 0 {
		return false
	}
	c.refused--
	return true
}

func (c *cutter) serve(client net.Conn) {
	defer client.Close()
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", c.to)
	if err != nil {
		return
	}
	defer server.Close()
	go c.relay(client, server, cutRequest)
	c.relay(server, client, loseAnswer, holdAnswer, refuse)
}

// relay copies one direction until it is harmed, which ends the connection.
func (c *cutter) relay(from, to net.Conn, kinds ...harm) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		switch c.next(kinds) {
		case cutRequest:
			_, _ = to.Write(buf[:n/2])
			return
		case loseAnswer, refuse:
			return
		case holdAnswer:
			_, _ = io.Copy(io.Discard, from) // until the client closes
			return
		case none, harms:
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (c *cutter) next(kinds []harm) harm {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 || c.rand.IntN(14) > 0 {
		return none
	}
	c.left--
	h := kinds[c.rand.IntN(len(kinds))]
	c.did[h]++
	if h == refuse {
		c.refused = 2
	}
	return h
}

// Connections for inserts break in every way, before and after ClickHouse has taken a block.
func TestExactlyOnceThroughBrokenConnections(t *testing.T) {
	e := foldtest.Start(t, 1)
	c := startCutter(t, e.ClickHouse.Addr, rand.New(rand.NewPCG(seed(t), 4)), 14)
	var f feeder
	for range 30 {
		f.add(t, e, 1)
	}
	p := newProjector(t, e, 1)
	cut := e.ClickHouse
	cut.Addr = c.listen.Addr().String()
	p.cfg.Blocks, p.insertTimeout = foldtest.Blocks(t, cut, e.Database), time.Second
	start(t, p)
	waitFolded(t, e, tallyProjection(), f.ends...)
	c.mu.Lock()
	t.Logf("requests cut %d, answers lost %d, answers held %d, refusals %d; %d harms were not needed",
		c.did[cutRequest], c.did[loseAnswer], c.did[holdAnswer], c.did[refuse], c.left)
	c.mu.Unlock()
	checkOnce(t, e, 1, f.next)
}

// sick adds settings to inserts for a while.
type sick struct {
	Inserter
	more map[string]string
	ill  atomic.Bool
}

func (s *sick) Insert(ctx context.Context, query string, settings map[string]string, columns []native.Column, rows int) error {
	if s.ill.Load() {
		settings = maps.Clone(settings)
		maps.Copy(settings, s.more)
	}
	return s.Inserter.Insert(ctx, query, settings, columns, rows)
}

// The server is read-only for us, or has no memory left: the projector says so and goes on
// trying, and when that is over everything is there once.
func TestInsertsAreRefused(t *testing.T) {
	for word, settings := range map[string]map[string]string{
		"readonly": {"readonly": "1"},
		"memory":   {"max_memory_usage": "1000", "max_untracked_memory": "1"},
	} {
		t.Run(word, func(t *testing.T) {
			e := foldtest.Start(t, 1)
			var f feeder
			f.add(t, e, 1)
			blocks := &sick{Inserter: e.Blocks, more: settings}
			p := newProjector(t, e, 1)
			p.cfg.Blocks = blocks
			start(t, p)
			waitFolded(t, e, tallyProjection(), f.ends...)
			blocks.ill.Store(true)
			f.add(t, e, 1)
			if problem := waitProblem(t, p); problem.Halted || !strings.Contains(problem.Text, word) {
				t.Errorf("problem is %+v; it heals by itself and names %q", problem, word)
			}
			blocks.ill.Store(false)
			f.add(t, e, 1)
			waitFolded(t, e, tallyProjection(), f.ends...)
			checkOnce(t, e, 1, f.next)
		})
	}
}

// ClickHouse refuses blocks for reasons of its own; the projector goes on trying
// and says so, and when they are gone everything is there once.
func TestRefusals(t *testing.T) {
	for name, setting := range map[string]string{
		"too many parts": "parts_to_throw_insert = 1, parts_to_delay_insert = 1",
		"disk is full":   "min_free_disk_bytes_to_perform_insert = 9000000000000000000",
	} {
		t.Run(name, func(t *testing.T) {
			e := foldtest.Start(t, 1)
			var f feeder
			f.add(t, e, 1)
			p := newProjector(t, e, 1)
			start(t, p)
			waitFolded(t, e, tallyProjection(), f.ends...)
			alter := func(what string) {
				if err := e.Conn.Exec(t.Context(), "ALTER TABLE tally "+what); err != nil {
					t.Fatal(err)
				}
			}
			alter("MODIFY SETTING " + setting)
			f.add(t, e, 1)
			if problem := waitProblem(t, p); problem.Halted {
				t.Errorf("problem is %+v; it heals by itself", problem)
			}
			for part := range splitSettings(setting) {
				alter("RESET SETTING " + part)
			}
			f.add(t, e, 1)
			waitFolded(t, e, tallyProjection(), f.ends...)
			checkOnce(t, e, 1, f.next)
		})
	}
}

// splitSettings are the names in "a = 1, b = 2".
func splitSettings(text string) map[string]bool {
	names := map[string]bool{}
	for len(text) > 0 {
		name, rest := text, ""
		for i := range text {
			if text[i] == ',' {
				name, rest = text[:i], text[i+2:]
				break
			}
		}
		for i := range name {
			if name[i] == ' ' {
				names[name[:i]] = true
				break
			}
		}
		text = rest
	}
	return names
}

// gate holds back everything a process sends to the log while it is closed.
type gate struct {
	mu   sync.Mutex
	open *sync.Cond
	shut bool
}

func newGate() *gate {
	g := &gate{}
	g.open = sync.NewCond(&g.mu)
	return g
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	g.shut = shut
	g.mu.Unlock()
	g.open.Broadcast()
}

func (g *gate) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.shut {
		g.open.Wait()
	}
}

type gatedConn struct {
	net.Conn
	gate *gate
}

func (c gatedConn) Write(b []byte) (int, error) {
	c.gate.pass()
	return c.Conn.Write(b)
}

// drowsySink sleeps before the first insert of all.
type drowsySink struct {
	sink
	sleep func()
}

func (s drowsySink) insert(ctx context.Context, token string, b Block) error {
	s.sleep()
	return s.sink.insert(ctx, token, b)
}

// A projector stands still as a whole, heartbeats and all, between its plan and
// its insert, until its session has timed out and another has taken its
// partition and gone on. When it wakes, what it inserts is there already, and
// what it commits is refused.
func TestStaleOwnerThroughASessionTimeout(t *testing.T) {
	e := foldtest.Start(t, 1)
	g := newGate()
	log, err := eventlog.Open(t.Context(), eventlog.Config{
		Brokers: e.Brokers, Embedded: true, Partitions: 1, SessionTimeout: time.Second, RebalanceTimeout: 10 * time.Second,
		Logger: slog.New(slog.DiscardHandler),
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return gatedConn{conn, g}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.set(false); _ = log.Close(context.Background()) })
	var f feeder
	f.add(t, e, 1)
	asleep, wake := make(chan struct{}), make(chan struct{})
	wakeUp := sync.OnceFunc(func() { g.set(false); close(wake) })
	t.Cleanup(wakeUp)
	stale := newProjector(t, e, 1)
	stale.cfg.Log = log
	sleep := sync.OnceFunc(func() { close(asleep); <-wake })
	stale.faultySink = func(s sink) sink { return drowsySink{s, sleep} }
	start(t, stale)
	<-asleep
	g.set(true)
	start(t, newProjector(t, e, 1))
	f.add(t, e, 1)
	waitFolded(t, e, tallyProjection(), f.ends...)
	wakeUp()
	f.add(t, e, 1)
	waitFolded(t, e, tallyProjection(), f.ends...)
	checkOnce(t, e, 1, f.next)
}
