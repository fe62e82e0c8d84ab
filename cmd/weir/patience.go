package main

import (
	"errors"
	"io"
	"net"
	"net/http"
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
	return &patientConn{conn, l.patience}, nil
}

type patientConn struct {
	net.Conn
	patience patience
}

func (c *patientConn) Write(b []byte) (int, error) {
	earned := time.Duration(len(b)) * time.Second / time.Duration(c.patience.rate)
	if err := c.SetWriteDeadline(time.Now().Add(c.patience.grace + earned)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// handler bounds the time of every body but the gateway's, also of those that next never reads:
// net/http reads them itself before it answers.
func (p patience) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gateway := r.Method == http.MethodPost && r.URL.Path == "/api/ingest"; r.ContentLength != 0 && !gateway {
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
