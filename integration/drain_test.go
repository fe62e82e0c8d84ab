package integration

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A server that is asked to end answers what was begun, and keeps what it answered.
func TestTerminatedUnderLoad(t *testing.T) {
	rng, seed := seeded(t)
	s := serve(t, unlimited...)
	who := s.project("drain")
	l := &load{seed: seed, largest: 50, who: who, ledger: &ledger{}, bases: func() []string { return []string{s.base()} }}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	wait := l.start(ctx)
	l.ledger.reaches(t, 1000)

	var begun []*slowPost
	for n := range 6 {
		b := newBatch(rng, fmt.Sprintf("s%x-slow%d", seed, n), 20)
		l.ledger.enter(b)
		begun = append(begun, beginPost(t, s, who, b))
	}
	began := time.Now()
	s.signal(syscall.SIGTERM)
	eventually(t, 5*time.Second, "the server takes no more requests", func() error {
		a, err := get(s.base(), "", "/readyz", nil)
		if err == nil && a.status == http.StatusOK {
			return fmt.Errorf("it says it is ready: %s", a)
		}
		return nil
	})
	for _, p := range begun {
		p.end(t, l.ledger)
	}
	s.ended(syscall.SIGTERM, began)
	nothingLeft(t, s, time.Second)
	cancel()
	wait()
	s.start()
	singleWitness(t, s, who, l.ledger, seed, false).verify()
}

// slowPost is a request of which the server has the first half.
type slowPost struct {
	batch *batch
	conn  net.Conn
	rest  []byte
}

func beginPost(t *testing.T, s *server, who credentials, b *batch) *slowPost {
	t.Helper()
	host := strings.TrimPrefix(s.base(), "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	head := fmt.Sprintf("POST /api/ingest HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"X-Service-Signature: %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", host, who.APIKey, sign(who.WebhookSecret, b.body), len(b.body))
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	// The server asks for the body when it has begun to work on the request.
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("a server that reads the body says 100 Continue; got %q, %v", line, err)
	}
	half := len(b.body) / 2
	if _, err := conn.Write(b.body[:half]); err != nil {
		t.Fatal(err)
	}
	return &slowPost{batch: b, conn: conn, rest: b.body[half:]}
}

// end sends the second half and wants a 200.
func (p *slowPost) end(t *testing.T, l *ledger) {
	t.Helper()
	if _, err := p.conn.Write(p.rest); err != nil {
		t.Errorf("batch %s, begun before the server was asked to end: %v", p.batch.name, err)
		return
	}
	reader := bufio.NewReader(p.conn)
	for {
		peeked, err := reader.Peek(1)
		if err == nil && (peeked[0] == '\r' || peeked[0] == '\n') { // the rest of 100 Continue
			_, _ = reader.Discard(1)
			continue
		}
		break
	}
	resp, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Errorf("batch %s, begun before the server was asked to end, got no answer: %v", p.batch.name, err)
		return
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("batch %s, begun before the server was asked to end, was answered %s %s %v", p.batch.name, resp.Status, body, err)
		return
	}
	if err := p.batch.agrees(body); err != nil {
		t.Error(err)
	}
	l.settle(p.batch, answered)
}
