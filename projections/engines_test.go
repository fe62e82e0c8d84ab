package projections

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"weir/eventlog"
	"weir/projections/foldtest"
)

// cutter is a proxy before ClickHouse that now and then cuts a connection when
// the server has answered: what was asked is done, and nobody is told.
type cutter struct {
	listen net.Listener
	to     string
	mu     sync.Mutex
	rand   *rand.Rand
	left   int
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
			go c.serve(conn)
		}
	}()
	return c
}

func (c *cutter) serve(client net.Conn) {
	defer client.Close()
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", c.to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(server, client) }()
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil || c.cut() {
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (c *cutter) cut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 || c.rand.IntN(12) > 0 {
		return false
	}
	c.left--
	return true
}

// ClickHouse has taken a block and its answer is lost, again and again.
func TestExactlyOnceThroughLostAnswers(t *testing.T) {
	e := foldtest.Start(t, 1)
	c := startCutter(t, e.ClickHouse.Addr, rand.New(rand.NewPCG(seed(t), 4)), 12)
	var f feeder
	for range 30 {
		f.add(t, e, 1)
	}
	p := newProjector(t, e, 1)
	cut := e.ClickHouse
	cut.Addr = c.listen.Addr().String()
	p.cfg.ClickHouse = foldtest.Connect(t, cut, e.Database)
	p.cfg.Blocks = foldtest.Blocks(t, cut, e.Database)
	p.surveys.conn = p.cfg.ClickHouse
	start(t, p)
	waitFolded(t, e, tallyProjection(), f.ends...)
	c.mu.Lock()
	t.Logf("%d answers were not lost", c.left)
	c.mu.Unlock()
	checkOnce(t, e, 1, f.next)
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
		Brokers: e.Broker.Addrs(), Embedded: true, Partitions: 1, SessionTimeout: time.Second, RebalanceTimeout: 10 * time.Second,
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
