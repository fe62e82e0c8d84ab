package ingest

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"weir/internal/httpapi"
)

// readBody reads the body as sent, at most the limit, and not for ever: a
// client that sends too slowly holds memory that others need.
func (q *request) readBody() error {
	pace := &q.pace
	pace.begin(q)
	defer pace.stop()
	if q.r.ContentLength >= 0 {
		q.sentRoom = newBuffer(q.firstRoom()) // admit has reserved it
	}
	for {
		room, err := q.grown(q.sentRoom, int(q.r.ContentLength)+1)
		q.sentRoom = room
		if err != nil {
			return err
		}
		n, err := q.r.Body.Read(room.bytes[len(room.bytes):cap(room.bytes)])
		room.bytes = room.bytes[:len(room.bytes)+n]
		switch {
		case len(room.bytes) > q.maxBytes:
			return q.tooLarge()
		case err == io.EOF:
			q.sent, q.bodyRead, q.received = room.bytes, true, q.h.cfg.Now()
			return nil
		case err != nil:
			return q.brokenBody(err)
		}
		pace.progress(len(room.bytes))
	}
}

func (q *request) brokenBody(err error) error {
	q.w.Header().Set("Connection", "close")
	q.broken = true
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return httpapi.Errorf(httpapi.CodeOverloaded,
			"the body came too slowly: it has %v and must then have come at %d bytes a second; send a smaller batch",
			q.h.cfg.BodyGrace, q.h.cfg.BodyRate).After(retrySoon).Because(err)
	}
	return httpapi.Errorf(httpapi.CodeInvalidRequest, "the body ended early or its framing is broken: send it again").Because(err)
}

// pace sets the connection's read deadline to what the bytes so far have earned.
type pace struct {
	conn  http.ResponseController
	start time.Time
	grace time.Duration
	rate  int
	set   int // bytes at the last change
}

// paceStep is how many bytes change the deadline; most bodies never do.
const paceStep = 64 << 10

func (p *pace) begin(q *request) {
	*p = pace{conn: *http.NewResponseController(q.w), start: time.Now(), grace: q.h.cfg.BodyGrace, rate: q.h.cfg.BodyRate}
	p.deadline(0)
}

func (p *pace) progress(bytes int) {
	if bytes-p.set >= paceStep {
		p.deadline(bytes)
	}
}

func (p *pace) deadline(bytes int) {
	p.set = bytes
	earned := time.Duration(float64(bytes) / float64(p.rate) * float64(time.Second))
	// Connections that can't have deadlines are those of tests.
	_ = p.conn.SetReadDeadline(p.start.Add(p.grace + earned))
}

// stop lifts the deadline: net/http goes on reading in the background to see
// whether the client leaves, and would take a deadline for that.
func (p *pace) stop() { _ = p.conn.SetReadDeadline(time.Time{}) }
