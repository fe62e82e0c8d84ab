package readmodel

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/internal/httpapi"
)

// Bounds of a tail in time.
const (
	tailResume = time.Hour        // how far back a tail resumes; what is older is a page of /api/events
	tailSlack  = time.Minute      // an event may become visible this much later than the lag says
	tailWrite  = 10 * time.Second // a client that takes nothing for so long is dropped
)

// tailing is one client being served.
type tailing struct {
	rd      *Reader
	w       http.ResponseWriter
	out     *http.ResponseController
	r       *http.Request
	filter  EventsFilter
	state   tailState
	written time.Time
}

// tail streams events as they become visible, as server-sent events: it looks
// into the read model every PollInterval, because only there do filters mean
// exactly what they mean in /api/events, and a look costs no more than the
// newest rows. A client resumes with the header Last-Event-ID (or the parameter
// last_event_id). Resuming from longer ago than an hour begins with an event
// named gap, {"from","to"}: the received times that /api/events has to fill.
func (rd *Reader) tail(w http.ResponseWriter, r *http.Request) error {
	t, err := rd.newTailing(w, r)
	if err != nil {
		return err
	}
	if rd.tails.Add(1) > int64(rd.cfg.MaxTails) {
		rd.tails.Add(-1)
		return httpapi.Errorf(httpapi.CodeOverloaded, "%d tails are being followed, no more are served at once", rd.cfg.MaxTails).After(retryAfter)
	}
	rd.stats.tails.Inc()
	defer func() { rd.tails.Add(-1); rd.stats.tails.Dec() }()
	if t.state.next == nil {
		if err := t.start(r.Context()); err != nil {
			return err
		}
	}
	t.follow(r.Context())
	return nil
}

func (rd *Reader) newTailing(w http.ResponseWriter, r *http.Request) (*tailing, error) {
	p, err := parseParams(r, "project_id", "type", "q", "where", "last_event_id")
	if err != nil {
		return nil, err
	}
	project, err := rd.project(r)
	if err != nil {
		return nil, err
	}
	t := &tailing{rd: rd, w: w, out: http.NewResponseController(w), r: r, filter: p.events(project)}
	name, last := "last_event_id", p.String("last_event_id", maxEventID)
	if h := r.Header.Get("Last-Event-ID"); h != "" {
		name, last = "Last-Event-ID", h
	}
	if last != "" {
		if t.state, err = parseTailState(last); err != nil {
			p.Bad(name, err.Error())
		}
	}
	return t, p.err()
}

const maxEventID = 8192

// start finds what is there already: a new tail shows only what comes after.
func (t *tailing) start(ctx context.Context) error {
	t.state = tailState{t.rd.lookBack(), map[place]int64{}}
	return t.rd.query(ctx, "tail_start", TailStartQuery{t.filter.Project, t.state.since}.statement(), func(rows driver.Rows) error {
		var p place
		var next int64
		err := rows.Scan(&p.kind, &p.partition, &next)
		t.state.next[p] = next
		return err
	})
}

// lookBack is the received time before which nothing new can become visible.
func (rd *Reader) lookBack() time.Time {
	lag := tailResume - tailSlack
	if rd.cfg.HistoryLag != nil {
		if known, ok := rd.cfg.HistoryLag(); ok {
			lag = min(known, lag)
		}
	}
	return time.Now().UTC().Add(-lag - tailSlack)
}

// now is a channel that is always ready.
var now = func() <-chan time.Time { c := make(chan time.Time); close(c); return c }()

// follow serves the client until it leaves, its key is revoked or the Reader is closed.
func (t *tailing) follow(ctx context.Context) {
	h := t.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies must not gather it
	if t.send(t.opening()) != nil {
		return
	}
	ticker := time.NewTicker(t.rd.cfg.PollInterval)
	defer ticker.Stop()
	for t.allowed() {
		more, err := t.look(ctx)
		if err != nil {
			return
		}
		pause := ticker.C
		if more {
			pause = now
		}
		select {
		case <-pause:
		case <-ctx.Done():
			return
		case <-t.rd.closed:
			return
		}
	}
}

func (t *tailing) opening() []byte {
	var b bytes.Buffer
	oldest := time.Now().UTC().Add(-tailResume)
	if t.state.since.Before(oldest.Add(-tailSlack)) {
		fmt.Fprintf(&b, "event: gap\ndata: {\"from\":%q,\"to\":%q}\n\n", t.state.since.Format(time.RFC3339Nano), oldest.Format(time.RFC3339Nano))
		t.state.since = oldest
	}
	fmt.Fprintf(&b, "retry: %d\nid: %s\n\n", retryAfter.Milliseconds(), t.state)
	return b.Bytes()
}

// allowed says whether the key is still good: a revoked one must not go on reading.
func (t *tailing) allowed() bool {
	bearer, ok := httpapi.Bearer(t.r)
	if !ok {
		return false
	}
	p, ok := t.rd.cfg.Auth.Authenticate(bearer)
	return ok && p.Can(httpapi.ScopeRead) && p.Owns(t.filter.Project)
}

// look sends what is new. An error means the client is gone; a read model that
// does not answer is only noted, for the client loses nothing by waiting.
func (t *tailing) look(ctx context.Context) (more bool, err error) {
	var batch tailBatch
	before := t.rd.lookBack()
	err = t.rd.query(ctx, "tail", TailQuery{t.filter, t.state}.statement(), batch.scan)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		t.rd.log.Debug("tail: the read model does not answer", slog.String("project", t.filter.Project), slog.Any("error", err))
		return false, t.beat()
	}
	batch.order()
	more = batch.more()
	if !more && before.After(t.state.since) {
		t.state.since = before // everything older has been sent
	}
	if len(batch.rows) == 0 {
		return false, t.beat()
	}
	return more, t.sendEvents(batch.rows)
}

func (t *tailing) sendEvents(rows []tailRow) error {
	var b []byte
	for i := range rows {
		r := &rows[i]
		t.state.next[r.place] = r.offset + 1
		b = append(b, "id: "...)
		b = append(b, t.state.String()...)
		b = append(b, "\ndata: "...)
		from := len(b)
		b = r.append(b)
		oneLine(b[from:])
		b = append(b, "\n\n"...)
	}
	return t.send(b)
}

// oneLine makes line ends blanks: between JSON tokens, the only place they can
// stand in, they mean the same, but here they would end the event.
func oneLine(b []byte) {
	for i, c := range b {
		if c == '\n' || c == '\r' {
			b[i] = ' '
		}
	}
}

// beat shows on a silent stream that it lives, and moves the id to resume from.
func (t *tailing) beat() error {
	if time.Since(t.written) < t.rd.cfg.Heartbeat {
		return nil
	}
	return t.send([]byte(": waiting\nid: " + t.state.String() + "\n\n"))
}

func (t *tailing) send(b []byte) error {
	_ = t.out.SetWriteDeadline(time.Now().Add(tailWrite)) // not every writer has deadlines
	if _, err := t.w.Write(b); err != nil {
		return err
	}
	t.written = time.Now()
	return t.out.Flush()
}
