package webhooks

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"weir/webhooks/guard"
)

// rawReceiver speaks to each connection by hand.
func rawReceiver(t *testing.T, speak func(net.Conn)) string {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listen.Close() })
	go func() {
		for {
			conn, err := listen.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				buf := make([]byte, 64<<10)
				_, _ = conn.Read(buf)
				speak(conn)
			}()
		}
	}()
	return "http://" + listen.Addr().String()
}

func TestHostileReceivers(t *testing.T) {
	var written atomic.Int64
	var redirected atomic.Bool
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { redirected.Store(true) }))
	t.Cleanup(trap.Close)
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	closed := rawReceiver(t, func(net.Conn) {})
	drip := func(first string) func(net.Conn) {
		return func(c net.Conn) {
			_, _ = io.WriteString(c, first)
			for {
				if _, err := io.WriteString(c, "x"); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond) // the receiver's own slowness, not a wait of the test
			}
		}
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	for name, c := range map[string]struct {
		url     string
		guard   *guard.Guard
		failure string
		status  int
	}{
		"answers 1 GB": {rawReceiver(t, func(c net.Conn) {
			_, _ = io.WriteString(c, head+"Content-Length: 1073741824\r\n\r\n")
			block := bytes.Repeat([]byte("g"), 64<<10)
			for range 1 << 14 {
				n, err := c.Write(block)
				written.Add(int64(n))
				if err != nil {
					return
				}
			}
		}), loopback, "", 200},
		"drips the head":      {rawReceiver(t, drip("HTTP/1.1 200 OK\r\nX-Slow: ")), loopback, FailureTimeout, 0},
		"drips the body":      {rawReceiver(t, drip(head+"Content-Length: 100000\r\n\r\n")), loopback, FailureTimeout, 200},
		"never answers":       {rawReceiver(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }), loopback, FailureTimeout, 0},
		"closes":              {closed, loopback, FailureReset, 0},
		"resets":              {rawReceiver(t, func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }), loopback, FailureReset, 0},
		"breaks off":          {rawReceiver(t, func(c net.Conn) { _, _ = io.WriteString(c, head+"Content-Length: 10\r\n\r\nabc") }), loopback, FailureReset, 200},
		"is no HTTP":          {rawReceiver(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\n") }), loopback, FailureAnswer, 0},
		"has an endless head": {rawReceiver(t, drip("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("y", 200<<10))), loopback, FailureAnswer, 0},
		"redirects to metadata": {rawReceiver(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/\r\nContent-Length: 0\r\n\r\n")
		}), loopback, FailureStatus, 302},
		"redirects and keeps a POST": {rawReceiver(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 307 Found\r\nLocation: "+trap.URL+"\r\nContent-Length: 0\r\n\r\n")
		}), loopback, FailureStatus, 307},
		"is nobody":                   {"http://127.0.0.1:1", loopback, FailureConnect, 0},
		"is on loopback":              {trap.URL, &guard.Guard{}, FailureBlocked, 0},
		"is metadata":                 {"http://169.254.169.254/latest/meta-data", loopback, FailureBlocked, 0},
		"has no name":                 {"http://nobody.invalid/", loopback, FailureDNS, 0},
		"has an unknown certificate":  {secure.URL, loopback, FailureTLS, 0},
		"speaks HTTP on an HTTPS URL": {strings.Replace(trap.URL, "http:", "https:", 1), loopback, FailureTLS, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newClient(c.guard, nil)
			defer client.CloseIdleConnections()
			began := time.Now()
			limit := 20 * time.Second
			if c.failure == FailureTimeout {
				limit = 700 * time.Millisecond
			}
			a := post(context.Background(), client, c.url, http.Header{}, []byte("{}"), limit)
			if a.failure != c.failure || a.status != c.status || a.aborted {
				t.Errorf("failure %q, status %d; want %q, %d", a.failure, a.status, c.failure, c.status)
			}
			if len(a.body) > keptBody {
				t.Errorf("%d bytes of the answer kept", len(a.body))
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
	t.Cleanup(func() {
		if n := written.Load(); n > 64<<20 {
			t.Errorf("%d bytes of the endless answer were taken", n)
		}
		if redirected.Load() {
			t.Error("a redirect was followed")
		}
	})
}

func TestGoneAndRetryAfter(t *testing.T) {
	log := openLog(t, startBroker(t))
	b := newBook()
	gone := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(410) })
	busy := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 0 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(429)
		}
	})
	b.add("ep_gone", KindHTTP, gone.URL)
	b.add("ep_busy", KindHTTP, busy.URL)
	l := startLane(t, log, b)
	ids := decide(t, l.Decider(), 1, Occasion{Type: "deploy.failed"})
	byID := await(t, log, ids...)
	<-b.changed
	for _, a := range history(t, log) {
		switch {
		case a.EndpointID == "ep_gone" && a.Status != "" && (a.DeliveryStatus != statusExhausted || a.StatusCode != 410):
			t.Errorf("410: %+v", a.attemptData)
		case a.EndpointID == "ep_busy" && a.Attempt == 2 && a.EventType == "deploy.failed":
			for _, first := range byID[a.DeliveryID] {
				if pause := a.record.Time.Sub(first.record.Time); first.Attempt == 1 && pause < time.Second-5*time.Millisecond {
					t.Errorf("tried again after %v, Retry-After was 1 s", pause)
				}
			}
		}
	}
	if reason := b.disabled["ep_gone"]; reason != reasonGone {
		t.Errorf("disabled because %q", reason)
	}
	if s := busy.next(t); s.id == "" { // the delivery itself, then the notice that the other endpoint was disabled
		t.Error("no id")
	}
	for {
		if s := busy.next(t); strings.Contains(s.body, TypeDisabled) {
			break
		}
	}
}

// Hanging endpoints hold up nobody: everything for the others arrives while the
// hanging attempts are still under way.
func TestNoisyNeighbours(t *testing.T) {
	const good, bad, rounds = 90, 10, 20
	log := openLog(t, startBroker(t))
	b := newBook()
	release := make(chan struct{})
	hanging := newReceiver(t, func(_ http.ResponseWriter, r *http.Request, _ int) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	fine := newReceiver(t, nil)
	for i := range good + bad {
		r := fine
		if i%10 == 0 {
			r = hanging
		}
		b.add("ep_"+string(rune('a'+i/26))+string(rune('a'+i%26)), KindHTTP, r.URL)
	}
	l := startLane(t, log, b, func(cfg *Config) { cfg.AttemptTime = time.Minute })
	decide(t, l.Decider(), rounds, Occasion{Type: "deploy.succeeded"})
	for range good * rounds {
		fine.next(t)
	}
	hanging.mu.Lock()
	flying := len(hanging.counts)
	hanging.mu.Unlock()
	if flying == 0 || flying > bad*firstLimit {
		t.Errorf("%d attempts hang, want between 1 and %d", flying, bad*firstLimit)
	}
	close(release)
}

// During a rotation every delivery verifies with the old secret and, once the
// rotation was answered, with the new one, as a public library sees it.
func TestRotationUnderLoad(t *testing.T) {
	log := openLog(t, startBroker(t))
	b := newBook()
	var current atomic.Int64
	current.Store(1)
	var refused atomic.Int64
	r := newReceiver(t, nil)
	r.answer = func(w http.ResponseWriter, req *http.Request, _ int) {}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		// A receiver that knows one secret only, the latest it was told.
		receiver, err := standard.NewWebhook(testSecret(int(current.Load())))
		body, _ := io.ReadAll(req.Body)
		if err == nil {
			err = receiver.Verify(body, req.Header)
		}
		if err != nil {
			refused.Add(1)
			w.WriteHeader(401)
		}
	}))
	defer server.Close()
	b.add("ep_1", KindHTTP, server.URL)
	l := startLane(t, log, b)
	var ids []string
	for n := 2; n <= 12; n++ {
		ids = append(ids, decide(t, l.Decider(), 30, Occasion{Type: "deploy.succeeded"})...)
		b.mu.Lock()
		ep := b.endpoints["ep_1"]
		ep.Version++
		ep.Keys = []SigningKey{{ID: "new", Key: testKey(n)}, {ID: "old", Key: testKey(n - 1), Until: time.Now().Add(time.Hour)}}
		b.endpoints["ep_1"] = ep
		b.mu.Unlock()
		l.Rotated(t.Context(), "ep_1", ep.Version)
		current.Store(int64(n))
	}
	await(t, log, ids...)
	if n := refused.Load(); n != 0 {
		t.Errorf("%d of %d deliveries did not verify", n, len(ids))
	}
}
