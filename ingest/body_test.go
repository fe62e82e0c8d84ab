package ingest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestTooLarge(t *testing.T) {
	d := newDoor(t, func(c *Config) { c.MaxBatchBytes = 1 << 20 })
	url := serve(t, d)
	full := oneLog + strings.Repeat(" ", 1<<20-len(oneLog))
	for name, c := range map[string]struct {
		p      post
		status int
	}{
		"exactly the limit":                  {post{body: full}, 200},
		"exactly the limit, length not told": {post{body: full, chunked: true}, 200},
		"a byte more":                        {post{body: full + " "}, 413},
		"a byte more, length not told":       {post{body: full + " ", chunked: true}, 413},
		"far more":                           {post{body: full + full + full + full}, 413},
		"far more, length not told":          {post{body: full + full + full + full, chunked: true}, 413},
	} {
		if got := send(t, c.p.request(t, url)); got.status != c.status {
			t.Errorf("%s: got %v, want %d", name, got, c.status)
		}
	}
	if n := d.budget.used.Load(); n != 0 {
		t.Errorf("%d bytes are still reserved", n)
	}
}

// A small refused body leaves the connection usable; clients that retry would
// else pay for a new one each time.
func TestRefusedSmallBodyKeepsTheConnection(t *testing.T) {
	conn := dial(t, serve(t, newDoor(t)))
	in := bufio.NewReader(conn)
	for range 2 {
		fmt.Fprintf(conn, "POST /api/ingest HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != 401 || res.Close {
			t.Fatalf("status %d, close %v", res.StatusCode, res.Close)
		}
	}
}

// A client that sends nothing more is answered when its time is over, although
// it never ends its request.
func TestSlowBody(t *testing.T) {
	d := newDoor(t, func(c *Config) { c.BodyGrace = 50 * time.Millisecond })
	conn := dial(t, serve(t, d))
	fmt.Fprintf(conn, "POST /api/ingest HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 500000\r\n\r\n{", keyA)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || !res.Close {
		t.Errorf("status %d, header %v, close %v", res.StatusCode, res.Header, res.Close)
	}
}

// A body that ends early is the client's fault, and nothing of it is kept.
func TestShortBody(t *testing.T) {
	d := newDoor(t)
	conn := dial(t, serve(t, d))
	fmt.Fprintf(conn, "POST /api/ingest HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n%s", keyA, oneLog)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 400 || len(events(d.log)) != 0 {
		t.Errorf("status %d, %d events", res.StatusCode, len(events(d.log)))
	}
}

// With Expect: 100-continue a refused body is never asked for.
func TestExpectContinue(t *testing.T) {
	conn := dial(t, serve(t, newDoor(t)))
	fmt.Fprintf(conn, "POST /api/ingest HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4000000\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 401 {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestBudget(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	d := newDoor(t, func(c *Config) { c.MaxBatchBytes, c.BytesInFlight = 4<<10, 16<<10 })
	d.client.Before = func(string) error {
		entered <- struct{}{}
		<-leave
		return nil
	}
	replies := make(chan reply)
	big := oneLog + strings.Repeat(" ", 3000)
	for range 4 {
		go func() { replies <- d.do(t, post{body: big}) }()
	}
	for range 4 {
		<-entered
	}
	got := d.do(t, post{body: oneLog})
	if got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("over the budget: %v", got)
	}
	close(leave)
	for range 4 {
		if got := <-replies; got.status != 200 {
			t.Errorf("within the budget: %v", got)
		}
	}
	d.client.Before = nil
	if got := d.do(t, post{body: oneLog}); got.status != 200 || d.budget.used.Load() != 0 {
		t.Errorf("afterwards: %v, %d bytes reserved", got, d.budget.used.Load())
	}
}

func dial(t *testing.T, url string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
