package integration

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/control"
	"weir/eventlog"
	"weir/internal/broker"
	"weir/internal/httpapi"
)

// gateway is a server with the role ingest alone; its broker is in this process.
type gateway struct {
	*server
	who credentials
}

func startGateway(t *testing.T, projects int, env ...string) (*gateway, []credentials) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	b, err := broker.Start(t.Context(), broker.Config{DataDir: t.TempDir(), Unsynced: true, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	key := make([]byte, control.MasterKeyLen)
	_, _ = rand.Read(key)
	master := base64.StdEncoding.EncodeToString(key)
	who := makeProjects(t, b.Addrs(), master, projects)
	s := newServer(t, "the gateway", append(env, "WEIR_KAFKA_BROKERS="+b.Addrs()[0], "WEIR_MASTER_KEY="+master)...)
	s.args = []string{"--roles", "ingest"}
	s.start()
	return &gateway{s, who[0]}, who
}

// makeProjects writes to the control log itself: a gateway alone has no endpoint for it.
func makeProjects(t *testing.T, brokers []string, master string, n int) (made []credentials) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	log, err := eventlog.Open(t.Context(), eventlog.Config{Brokers: brokers, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close(context.Background()) }()
	secret, err := control.ParseMasterKey(master)
	if err != nil {
		t.Fatal(err)
	}
	keyring, err := control.NewKeyring(secret)
	if err != nil {
		t.Fatal(err)
	}
	directory, err := control.NewDirectory(control.Config{Log: log, Keyring: keyring, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- directory.Run(ctx) }()
	defer func() { cancel(); <-done }()
	<-directory.Ready()
	for i := range n {
		p, err := control.NewCommands(directory).CreateProject(t.Context(), httpapi.Principal{Admin: true}, fmt.Sprint("project ", i))
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, credentials{p.Project.ID, p.APIKey.Reveal(), p.WebhookSecret.Reveal()})
	}
	return made
}

// memory is a line of /proc/PID/status in bytes, such as VmHWM, the most that was ever resident.
func (s *server) memory(name string) int64 {
	s.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.current().process.PID()))
	if err != nil {
		s.t.Skipf("resident memory is read on Linux only: %v", err)
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return kib << 10
		}
	}
	s.t.Fatalf("no %s in /proc/PID/status", name)
	return 0
}

// signedRequest is a whole request as bytes.
func signedRequest(host string, who credentials, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST /api/ingest HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nX-Service-Signature: %s\r\nContent-Length: %d\r\n\r\n",
		host, who.APIKey, sign(who.WebhookSecret, body), len(body))
	b.Write(body)
	return b.Bytes()
}

// hugeBody is just below the limit of 5 MB.
func hugeBody() []byte {
	const event = `{"type":"log","ts":"2026-11-21T12:00:00Z","data":{"message":"a message of the usual length, so that a batch has some twenty thousand events","level":"info","module":"api","fields":{"status":200,"path":"/v1/things/17","took_ms":12.5,"user":"u-1","region":"eu-central-1","ok":true}}}`
	body := []byte(`{"events":[`)
	for len(body)+len(event)+3 < 5<<20 {
		body = append(append(body, event...), ',')
	}
	return append(body[:len(body)-1], "]}"...)
}

// crowd is many connections to one server.
type crowd struct {
	t    *testing.T
	addr string
	stop context.Context
	all  sync.WaitGroup

	taken, shed, broken atomic.Int64
}

func (c *crowd) dial() net.Conn {
	n, err := net.DialTimeout("tcp", c.addr, 10*time.Second)
	if err != nil {
		c.broken.Add(1)
		return nil
	}
	context.AfterFunc(c.stop, func() { _ = n.Close() })
	return n
}

// send posts the request again and again.
func (c *crowd) send(request []byte) {
	for c.stop.Err() == nil {
		if n := c.dial(); n != nil {
			c.exchange(n, request)
			_ = n.Close()
		}
	}
}

func (c *crowd) exchange(n net.Conn, request []byte) {
	in := bufio.NewReader(n)
	for c.stop.Err() == nil {
		if _, err := n.Write(request); err != nil {
			c.broken.Add(1)
			return
		}
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			c.broken.Add(1)
			return
		}
		_, _ = io.Copy(io.Discard, res.Body)
		switch res.StatusCode {
		case http.StatusOK:
			c.taken.Add(1)
		case http.StatusServiceUnavailable:
			c.shed.Add(1)
			select {
			case <-time.After(100 * time.Millisecond):
			case <-c.stop.Done():
			}
		default:
			c.t.Errorf("answered %d", res.StatusCode)
			return
		}
		if res.Close {
			return
		}
	}
}

// idle opens a connection, asks once, and keeps it open.
func (c *crowd) idle() {
	if n := c.dial(); n != nil {
		fmt.Fprintf(n, "GET /livez HTTP/1.1\r\nHost: %s\r\n\r\n", c.addr)
		_, _ = io.Copy(io.Discard, n)
	}
}

// trickle sends the request's first part at once and then a byte a second.
func (c *crowd) trickle(request []byte) {
	for c.stop.Err() == nil {
		n := c.dial()
		if n == nil {
			return
		}
		_, err := n.Write(request[:1000])
		for i := 1000; err == nil && i < len(request); i++ {
			select {
			case <-time.After(time.Second):
			case <-c.stop.Done():
			}
			_, err = n.Write(request[i : i+1])
		}
		_ = n.Close()
	}
}

// TestMemoryIsBounded: resident memory, seen from outside, stays within the budget
// plus 128 MB, whatever clients do: many that send 5 MB bodies as fast as they can,
// connections that do nothing, and clients that send a byte a second. Those that
// are served or shed get an answer, and a small batch is taken all the while.
// A process with all roles, its log in it, stays within 384 MB more than the
// budget; its ClickHouse is a process of its own.
func TestMemoryIsBounded(t *testing.T) {
	budget := int64(sized(64, 256)) << 20
	env := append(unlimited, fmt.Sprintf("WEIR_BYTES_IN_FLIGHT=%d", budget))
	t.Run("gateway", func(t *testing.T) {
		g, who := startGateway(t, 1, env...)
		stormed(t, g.server, who[0], budget+128<<20)
	})
	t.Run("all roles", func(t *testing.T) {
		s := serve(t, env...)
		stormed(t, s, s.project("memory"), budget+384<<20)
	})
}

// stormGuard ends a storm in which nothing was taken.
const stormGuard = 2 * time.Minute

// stormed lets every kind of client loose on the server for some seconds, and
// until it has taken something from each; then it looks at the most memory it had.
func stormed(t *testing.T, g *server, who credentials, bound int64) {
	clients, idle, slow := sized(120, 1000), sized(1000, 10_000), sized(60, 500)
	length := time.Duration(sized(8, 60)) * time.Second
	addr := strings.TrimPrefix(g.base(), "http://")
	stop, cancel := context.WithTimeout(t.Context(), length+stormGuard)
	defer cancel()
	request := signedRequest(addr, who, hugeBody())
	c := &crowd{t: t, addr: addr, stop: stop}
	for range idle {
		c.all.Go(c.idle)
	}
	for range slow {
		c.all.Go(func() { c.trickle(request) })
	}
	for range clients {
		c.all.Go(func() { c.send(request) })
	}
	small, refused, began := 0, 0, time.Now()
	for stop.Err() == nil && (time.Since(began) < length || small == 0 || c.taken.Load() == 0) {
		body := []byte(`{"events":[{"type":"log","ts":"2026-11-21T12:00:00Z","data":{"message":"small"}}]}`)
		switch a, err := post(g.base(), who, body, ""); {
		case err != nil:
			t.Errorf("a small batch: %v", err)
		case a.status == http.StatusOK:
			small++
		case a.status == http.StatusServiceUnavailable:
			refused++
		default:
			t.Errorf("a small batch: %s", a)
		}
		<-time.After(20 * time.Millisecond)
	}
	cancel()
	c.all.Wait()
	most := g.memory("VmHWM")
	t.Logf("most resident: %d MiB of %d; %d clients of 5 MB: %d taken, %d shed, %d connections broken; %d idle, %d slow; small batches: %d taken, %d shed",
		most>>20, bound>>20, clients, c.taken.Load(), c.shed.Load(), c.broken.Load(), idle, slow, small, refused)
	if most > bound {
		t.Errorf("resident memory was %d MiB, the bound is %d MiB", most>>20, bound>>20)
	}
	if c.taken.Load() == 0 || small == 0 {
		t.Error("nothing was taken")
	}
}
