package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// patience is how long a client may take over its side of a request. Without it one that
// announces a body and sends nothing, or reads nothing of its answer, would keep a connection,
// and what its answer takes of the memory, for ever.
type patience struct {
	body  time.Duration // for a whole body; the gateway paces its own
	grace time.Duration // for a write, beside what its bytes have at rate
	rate  int           // bytes a second
}

var clientPatience = patience{body: 30 * time.Second, grace: 10 * time.Second, rate: 64 << 10}

// listener bounds every write to the connections of l.
func (p patience) listener(l net.Listener) net.Listener { return patientListener{l, p} }

type patientListener struct {
	net.Listener
	patience patience
}

func (l patientListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &patientConn{Conn: conn, patience: l.patience}, nil
}

// patientConn bounds its writes, and sets the runtime's deadlines only when they matter: net/http
// and the gateway change the read deadline nine times a request, mostly with no read in between.
type patientConn struct {
	net.Conn
	patience patience

	mu       sync.Mutex
	reading  bool      // a read is under way
	readBy   time.Time // the read deadline that was asked for
	readSet  time.Time // the one that the connection has
	writeSet time.Time
}

// SetReadDeadline takes effect at once on a read that is under way, else at the next one.
func (c *patientConn) SetReadDeadline(by time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readBy = by
	if !c.reading {
		return nil
	}
	return c.applyReadDeadline()
}

func (c *patientConn) applyReadDeadline() error {
	if c.readBy.Equal(c.readSet) {
		return nil
	}
	c.readSet = c.readBy
	return c.Conn.SetReadDeadline(c.readBy)
}

// SetDeadline is for whoever takes the connection over.
func (c *patientConn) SetDeadline(by time.Time) error {
	return errors.Join(c.SetReadDeadline(by), c.SetWriteDeadline(by))
}

// Read is called by one goroutine at a time, as net/http does.
func (c *patientConn) Read(b []byte) (int, error) {
	if err := c.readBegins(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	c.reading = false
	c.mu.Unlock()
	return n, err
}

func (c *patientConn) readBegins() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = true
	return c.applyReadDeadline()
}

// Write has at least half of the grace, and the time that its bytes earn.
func (c *patientConn) Write(b []byte) (int, error) {
	earned := time.Duration(len(b)) * time.Second / time.Duration(c.patience.rate)
	now := time.Now()
	if c.writeSet.Before(now.Add(c.patience.grace/2 + earned)) {
		c.writeSet = now.Add(c.patience.grace + earned)
		if err := c.SetWriteDeadline(c.writeSet); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(b)
}

// CloseWrite lets net/http end an answer before it gives up on what the client still sends.
func (c *patientConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// handler bounds the time of every body but the gateway's, also of those that next never reads:
// net/http reads them itself before it answers.
func (p patience) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TransferEncoding) > 0 {
			// It may have had a length, too, which net/http hides: what follows could be a request that
			// a proxy took for this one's body. RFC 9112, 6.1: answer, then close.
			w.Header().Set("Connection", "close")
		}
		if r.ContentLength != 0 && !isBatch(r) {
			conn := http.NewResponseController(w)
			_ = conn.SetReadDeadline(time.Now().Add(p.body)) // recorders in tests have none
			r.Body = &patientBody{r.Body, conn}
		}
		next.ServeHTTP(w, r)
	})
}

// patientBody lifts the deadline at its end: net/http then reads on to see whether the client
// leaves, and would take the deadline for that.
type patientBody struct {
	io.ReadCloser
	conn *http.ResponseController
}

func (b *patientBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if errors.Is(err, io.EOF) {
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}
