package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// patientServer serves handler with little patience.
func patientServer(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := patience{body: 50 * time.Millisecond, grace: 100 * time.Millisecond, rate: 1 << 30}
	server := &http.Server{Handler: p.handler(handler), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(p.listener(listen)) }()
	t.Cleanup(func() { _ = server.Close() })
	return listen.Addr().String()
}

func dialPatient(t *testing.T, addr, request string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestBodyNeverSent: whoever announces a body and sends none is let go, whether or not the handler reads it.
func TestBodyNeverSent(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"unread": func(http.ResponseWriter, *http.Request) {},
		"read":   func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) },
	} {
		conn := dialPatient(t, patientServer(t, handler), "POST /api/projects HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection is still held", name)
		}
	}
}

// TestLazyReadDeadline: a deadline that was set with no read under way ends the next one; one that is set
// during a read ends that; one that was lifted ends none.
func TestLazyReadDeadline(t *testing.T) {
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = theirs.Close() })
	c := &patientConn{Conn: ours, patience: clientPatience}
	read := func() error { _, err := c.Read(make([]byte, 1)); return err }
	past := time.Now().Add(-time.Second)
	_ = c.SetReadDeadline(past)
	if err := read(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the read after a deadline: %v", err)
	}
	_ = c.SetReadDeadline(time.Time{})
	ended := make(chan error, 1)
	go func() { ended <- read() }()
	if _, err := theirs.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the read after the deadline was lifted: %v", err)
	}
	go func() { ended <- read() }()
	for reading := false; !reading; {
		c.mu.Lock()
		reading = c.reading
		c.mu.Unlock()
	}
	_ = c.SetReadDeadline(past)
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the read during which a deadline was set: %v", err)
	}
}

// TestSmuggledRequest: what follows a request with two lengths is not taken for another request, nor is a
// path that only looks like the gateway's after decoding left without a deadline.
func TestSmuggledRequest(t *testing.T) {
	asked := make(chan string, 8)
	addr := patientServer(t, func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		_, _ = io.Copy(io.Discard, r.Body)
	})
	conn := dialPatient(t, addr, "POST /one HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+
		"POST /two HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	all, err := io.ReadAll(conn)
	if strings.Count(string(all), "HTTP/1.1 ") != 1 || errors.Is(err, os.ErrDeadlineExceeded) || len(asked) != 1 {
		t.Errorf("%d requests were taken, the connection answered %q, %v", len(asked), all, err)
	}
	conn = dialPatient(t, addr, "POST /api%2fingest HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a body that never comes is still awaited")
	}
}

// TestAnswerNeverRead: whoever reads nothing of an answer does not hold its handler.
func TestAnswerNeverRead(t *testing.T) {
	done := make(chan error, 1)
	dialPatient(t, patientServer(t, func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(bytes.Repeat([]byte("x"), 64<<20))
		done <- err
	}), "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case err := <-done:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write to a client that reads nothing: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the handler is still writing")
	}
}

// TestSlowHandler: a deadline for the body ends with the body, not the handler's work.
func TestSlowHandler(t *testing.T) {
	conn := dialPatient(t, patientServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-time.After(200 * time.Millisecond): // four times the patience with its body
			_, _ = io.WriteString(w, "done")
		}
	}), "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(text), "done") {
		t.Errorf("answer %q, %v", text, err)
	}
}
