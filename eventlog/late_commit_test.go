package eventlog

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/protocol"

	"weir/internal/broker"
)

// straggler holds one offset commit back, as a lost packet does, and brings it to
// the broker long after its sender has given it up.
type straggler struct {
	mu    sync.Mutex
	armed bool
	late  []byte
	conn  net.Conn
	held  chan struct{}
}

func (s *straggler) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &stragglerConn{Conn: conn, among: s}, nil
}

func (s *straggler) arm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed, s.held = true, make(chan struct{})
}

// deliver brings the commit to the broker and waits for its answer.
func (s *straggler) deliver(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	conn, late := s.conn, s.late
	s.mu.Unlock()
	if conn == nil {
		t.Fatal("no commit was held back")
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(late); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 512)); err != nil {
		t.Fatal(err)
	}
}

type stragglerConn struct {
	net.Conn
	among *straggler
	mine  bool
}

func (c *stragglerConn) Write(b []byte) (int, error) {
	c.among.mu.Lock()
	defer c.among.mu.Unlock()
	if commit := len(b) > 6 && protocol.ApiKey(binary.BigEndian.Uint16(b[4:])) == protocol.OffsetCommit; c.among.armed && commit {
		c.among.armed, c.mine = false, true
		c.among.conn, c.among.late = c.Conn, append([]byte(nil), b...)
		close(c.among.held)
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *stragglerConn) Read(b []byte) (int, error) {
	if c.mine {
		return 0, os.ErrDeadlineExceeded
	}
	return c.Conn.Read(b)
}

func (c *stragglerConn) Close() error {
	if c.mine {
		return nil // what is on its way still arrives
	}
	return c.Conn.Close()
}

// TestLateCommit: a commit that was given up without an answer and reaches the
// broker later never takes a checkpoint back to an older plan. The records after
// that plan were applied in other blocks since; folding them again in new ones
// would count them twice.
func TestLateCommit(t *testing.T) {
	late := &straggler{}
	cfg := testConfig(t, startBroker(t, broker.Config{}).Addrs())
	cfg.Dial = late.dial
	l := openLog(t, cfg)
	m, err := l.Join(t.Context(), "g", []string{testTopic})
	if err != nil {
		t.Fatal(err)
	}
	current, err := m.Next(within(t, 30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	// As a projector does: the same commit again, with the next assignment when this one is over.
	commit := func(do func(*Assignment) error) {
		t.Helper()
		for {
			err := do(current)
			switch {
			case err == nil:
				return
			case errors.Is(err, ErrStale):
				if current, err = m.Next(within(t, 30*time.Second)); err != nil {
					t.Fatal(err)
				}
			case !errors.Is(err, ErrUnavailable):
				t.Fatal(err)
			}
		}
	}
	ctx, tp := within(t, time.Minute), TopicPartition{Topic: testTopic}
	late.arm()
	commit(func(a *Assignment) error { return a.Plan(ctx, tp, 0, 5, Witness{}, Witness{}) })
	<-late.held
	commit(func(a *Assignment) error { return a.Advance(ctx, tp, 5, Witness{}) })
	commit(func(a *Assignment) error { return a.Plan(ctx, tp, 5, 10, Witness{}, Witness{}) })
	late.deliver(t)
	all, err := l.Checkpoints(ctx, "g", []string{testTopic})
	if want := (Checkpoint{Offset: 5, Planned: 10, Exists: true}); err != nil || all[tp] != want {
		t.Errorf("checkpoint after the late commit: %+v, %v; want %+v", all[tp], err, want)
	}
	if err := m.Close(within(t, 10*time.Second)); err != nil {
		t.Error(err)
	}
}
