package ingest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/eventlog"
	"weir/ingest/internal/logtest"
	"weir/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// people is a directory for tests: bearer to caller.
type people map[string]Caller

func (p people) Lookup(bearer string) (Caller, bool) {
	c, ok := p[bearer]
	return c, ok
}

const (
	keyA, secretA = "key-of-a", "whsec_secret-of-a"
	keyB, secretB = "key-of-b", "whsec_secret-of-b"
)

func everybody() people {
	return people{
		keyA:         {ProjectID: "prj_a", KeyID: "ka", MayIngest: true, Secret: []byte(secretA)},
		keyB:         {ProjectID: "prj_b", KeyID: "kb", MayIngest: true, Secret: []byte(secretB)},
		"key-reads":  {ProjectID: "prj_a", KeyID: "kr", Secret: []byte(secretA)},
		"key-silent": {ProjectID: "prj_s", KeyID: "ks", MayIngest: true},
	}
}

// fakeClock is a clock that only tests move.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// door is a gateway on a log in memory.
type door struct {
	*Handler
	log    *logtest.Log
	client *logtest.Client
	stop   func() // ends Run and waits for it
}

func newDoor(t testing.TB, change ...func(*Config)) *door {
	t.Helper()
	return joinDoor(t, logtest.New(2), change...)
}

// joinDoor makes a gateway on a log that others may use too, and waits until it is ready.
func joinDoor(t testing.TB, log *logtest.Log, change ...func(*Config)) *door {
	t.Helper()
	client := log.Client()
	cfg := Config{Log: client, Directory: everybody(), Gateway: "one"}
	for _, c := range change {
		c(&cfg)
	}
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.Run(ctx) // a killed client's tail ends with an error
	}()
	d := &door{Handler: h, log: log, client: client, stop: sync.OnceFunc(func() { cancel(); <-ended })}
	t.Cleanup(d.stop)
	<-client.Caught
	for h.Ready() != nil {
		if t.Failed() {
			t.FailNow()
		}
	}
	return d
}

// post is one request in the making. The zero value with a body is a good one of project a.
type post struct {
	bearer    string // "" is keyA, "-" none
	kind      string // "" is application/json, "-" none
	body      string
	secret    string // "" is secretA
	signature string // "" is computed, "-" none
	key       string
	encoding  string
	chunked   bool
	more      http.Header
}

func (p post) request(t testing.TB, url string) *http.Request {
	t.Helper()
	var body io.Reader = bytes.NewReader([]byte(p.body))
	if p.chunked {
		body = struct{ io.Reader }{body}
	}
	r, err := http.NewRequest("POST", url, body)
	if err != nil {
		t.Fatal(err)
	}
	set := func(name, value string) {
		if value != "-" && value != "" {
			r.Header.Set(name, value)
		}
	}
	set("Content-Type", either(p.kind, "application/json"))
	if bearer := either(p.bearer, keyA); bearer != "-" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	set(headerSignature, either(p.signature, sign(either(p.secret, secretA), p.body)))
	set(headerIdempotency, p.key)
	set("Content-Encoding", p.encoding)
	for name, values := range p.more {
		r.Header[name] = values
	}
	return r
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func sign(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

// reply is what came back.
type reply struct {
	status int
	code   string // of a problem
	header http.Header
	body   string
}

func (r reply) String() string { return fmt.Sprintf("%d %s %s", r.status, r.code, r.body) }

// do asks the handler without a network.
func (d *door) do(t testing.TB, p post) reply {
	t.Helper()
	r := p.request(t, "/api/ingest")
	if p.chunked {
		r.ContentLength = -1
	}
	return d.ask(r)
}

func (d *door) ask(r *http.Request) reply {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return replyOf(w.Code, w.Header(), w.Body.Bytes())
}

func replyOf(status int, h http.Header, body []byte) reply {
	var problem struct{ Code string }
	if status != http.StatusOK {
		_ = json.Unmarshal(body, &problem)
	}
	return reply{status, problem.Code, h, string(body)}
}

// serve puts the door behind a real server and returns its URL.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func send(t testing.TB, r *http.Request) reply {
	t.Helper()
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return replyOf(res.StatusCode, res.Header, body)
}

// events returns all records of the events topics.
func events(l *logtest.Log) (all []eventlog.Record) {
	for _, t := range schemas.Types() {
		all = append(all, l.Records(eventlog.EventsTopic(t))...)
	}
	return all
}

const oneLog = `{"events":[{"type":"log","ts":"2026-11-21T12:00:00Z","data":{"message":"hello"}}]}`

// logBatch is a batch of n valid log events.
func logBatch(n int) string {
	var b bytes.Buffer
	b.WriteString(`{"events":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"type":"log","ts":"2026-11-21T12:00:00.%06dZ","data":{"level":"info","message":"request %d done in time","module":"api","fields":{"status":200,"path":"/v1/things/%d","took_ms":12.5,"user":"u-%06d","region":"eu-central-1","trace":"4bf92f3577b34da6a3ce929d0e0e4736","ok":true}}}`, i, i, i*7, i)
	}
	b.WriteString(`]}`)
	return b.String()
}
