package eventlog

import (
	"context"
	"net"
	"sync"
)

// connections knows every open connection, so that Close ends them all: kafka-go
// keeps one open while an answer is due, even when nobody waits for it any more.
type connections struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu     sync.Mutex
	open   map[*trackedConn]struct{}
	closed bool
}

func (cs *connections) dialTracked(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := cs.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &trackedConn{Conn: conn, among: cs}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.closed {
		_ = conn.Close()
		return nil, ErrClosed
	}
	if cs.open == nil {
		cs.open = make(map[*trackedConn]struct{})
	}
	cs.open[c] = struct{}{}
	return c, nil
}

func (cs *connections) close() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.closed = true
	for c := range cs.open {
		_ = c.Conn.Close()
	}
	cs.open = nil
}

type trackedConn struct {
	net.Conn
	among *connections
}

func (c *trackedConn) Close() error {
	c.among.mu.Lock()
	delete(c.among.open, c)
	c.among.mu.Unlock()
	return c.Conn.Close()
}
