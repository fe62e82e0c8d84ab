package eventlogtest

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
)

// Harm is what happens to a produce request.
type Harm uint8

// The two ways a write fails, "not applied" (twice: before it is sent, and cut
// off midway) and "applied, yet the answer is lost".
const (
	None Harm = iota
	RefuseRequest
	CutRequest
	LoseAnswer
)

// Saboteur opens connections on which produces fail as Choose says. Its Dial goes
// into eventlog.Config.
type Saboteur struct {
	mu     sync.Mutex
	choose func() Harm
	harms  map[Harm]int
}

// Choose sets how the next produces fare.
func (s *Saboteur) Choose(choose func() Harm) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.choose = choose
}

// Always makes every produce fare the same.
func (s *Saboteur) Always(h Harm) { s.Choose(func() Harm { return h }) }

// Sometimes harms one produce in three, in all ways.
func (s *Saboteur) Sometimes(seed uint64) {
	random := rand.New(rand.NewPCG(seed, seed))
	s.Choose(func() Harm {
		if random.IntN(3) > 0 {
			return None
		}
		return Harm(1 + random.IntN(3))
	})
}

// Harms counts what was done.
func (s *Saboteur) Harms(h Harm) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.harms[h]
}

func (s *Saboteur) next() Harm {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := None
	if s.choose != nil {
		h = s.choose()
	}
	if s.harms == nil {
		s.harms = make(map[Harm]int)
	}
	s.harms[h]++
	return h
}

// Dial connects to a broker.
func (s *Saboteur) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &harmedConn{Conn: c, saboteur: s}, nil
}

var errHarmed = errors.New("connection was cut by the test")

// harmedConn relies on kafka-go using a connection for one request at a time, and
// on our writing a produce in one piece.
type harmedConn struct {
	net.Conn
	saboteur *Saboteur
	lose     bool
}

func (c *harmedConn) Write(b []byte) (int, error) {
	if !isProduce(b) {
		return c.Conn.Write(b)
	}
	switch c.saboteur.next() {
	case RefuseRequest:
		return 0, errors.Join(errHarmed, c.Close())
	case CutRequest:
		n, _ := c.Conn.Write(b[:len(b)/2])
		return n, errors.Join(errHarmed, c.Close())
	case LoseAnswer:
		c.lose = true
	case None:
	}
	return c.Conn.Write(b)
}

// Read waits for the answer before it loses it: by then the broker has applied
// the request.
func (c *harmedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.lose {
		return 0, errors.Join(errHarmed, c.Close(), err)
	}
	return n, err
}

// isProduce looks for the api key 0 behind the size.
func isProduce(b []byte) bool { return len(b) > 8 && binary.BigEndian.Uint16(b[4:]) == 0 }
