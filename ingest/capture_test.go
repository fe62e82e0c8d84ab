package ingest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/eventlog"
	"weir/ingest/limits"
	"weir/schemas"
)

// byMessage groups by nothing but the bytes of data.
func byMessage(project string, data []byte) CapturedGroup {
	return CapturedGroup{Fingerprint: fmt.Sprintf("%s-%d", project, len(data)), Name: "Error", Message: string(data)}
}

func (d *door) capture(t testing.TB, p post) reply {
	t.Helper()
	r := p.request(t, "/api/errors/capture")
	r.Header.Del(headerSignature)
	w := httptest.NewRecorder()
	d.Capture(byMessage).ServeHTTP(w, r)
	return replyOf(w.Code, w.Header(), w.Body.Bytes())
}

func errorRecords(d *door) []eventlog.Record {
	return d.log.Records(eventlog.EventsTopic(schemas.Error))
}

// A capture is the event that a batch would have carried, byte for byte.
func TestCaptureIsAnErrorEvent(t *testing.T) {
	clock := newFakeClock()
	d := newDoor(t, func(c *Config) { c.Now = clock.Now })
	for _, tt := range []struct{ body, event string }{
		{`{"name":"E","message":"m","stack":["a"],"odd": 1.50}`, `{"type":"error","ts":"2026-11-21T12:00:00Z","data":{"name":"E","message":"m","stack":["a"],"odd": 1.50}}`},
		{`{ "message":"m", "ts":"2026-11-20T00:00:00.5Z" , "user" : {"id":1} }`, `{"type":"error","ts":"2026-11-20T00:00:00.5Z","data":{"message":"m","user":{"id":1}}}`},
		{`{"project_id":"prj_a","ts":null,"n\u0061me":"E"}`, `{"type":"error","ts":"2026-11-21T12:00:00Z","data":{"name":"E"}}`},
	} {
		before := len(errorRecords(d))
		got := d.capture(t, post{body: tt.body})
		if got.status != 200 {
			t.Fatalf("%s: %v", tt.body, got)
		}
		records := errorRecords(d)[before:]
		if len(records) != 1 || string(records[0].Value) != tt.event {
			t.Fatalf("%s was appended as %+v", tt.body, records)
		}
		id := records[0].EventID()
		var answer struct {
			EventID     string `json:"event_id"`
			Fingerprint string
			Group       CapturedGroup
		}
		if err := json.Unmarshal([]byte(got.body), &answer); err != nil || answer.EventID != fmt.Sprintf("%x", id) || answer.Fingerprint != answer.Group.Fingerprint {
			t.Errorf("answer %s, record %x", got.body, id)
		}
		if got.header.Get(headerPosition) == "" || got.header["RateLimit-Policy"] != nil {
			t.Errorf("headers %v", got.header)
		}
		if batch := d.do(t, post{body: `{"events":[` + tt.event + `]}`}); batch.body != `{"accepted":1,"rejected":[]}` {
			t.Errorf("as a batch: %v", batch)
		}
	}
}

// What is not an exception is refused, with the fault named, and nothing is appended.
func TestCaptureRefuses(t *testing.T) {
	d := newDoor(t)
	deep := strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)
	for _, tt := range []struct {
		post
		status int
		says   string
	}{
		{post{body: ``}, 400, "empty"},
		{post{body: `[]`}, 400, "one JSON object"},
		{post{body: `"x"`}, 400, "one JSON object"},
		{post{body: `{}`}, 400, "name"},
		{post{body: `{"a":1}}],"x":[{"b":{"c":1}`}, 400, "invalid_json"},
		{post{body: `{"message":"a"} x`}, 400, "invalid_json"},
		{post{body: `{"message":"` + "\xff" + `"}`}, 400, "invalid_json"},
		{post{body: `{"message":"\ud800"}`}, 400, "message: unpaired surrogate"},
		{post{body: `{"message":5}`}, 400, "message: must be a string"},
		{post{body: `{"message":"a","message":"b"}`}, 400, "message: duplicate name"},
		{post{body: `{"message":"a","x":1,"x":2,"ts":null}`}, 400, "x: duplicate name"},
		{post{body: `{"message":"a","ts":null,"ts":null}`}, 400, "twice"},
		{post{body: `{"message":"a","ts":"yesterday"}`}, 400, "ts: must be"},
		{post{body: `{"message":"a","ts":"9999-01-01T00:00:00Z"}`}, 400, "ts: "},
		{post{body: `{"message":"a","project_id":"prj_b"}`}, 404, "no such project"},
		{post{body: `{"message":"a","project_id":7}`}, 404, "no such project"},
		{post{body: `{"message":"a","deep":` + deep + `}`}, 400, "invalid_json"},
		{post{body: `{"message":"a"}`, bearer: "-"}, 401, "unauthorized"},
		{post{body: `{"message":"a"}`, bearer: "nobody"}, 401, "unauthorized"},
		{post{body: `{"message":"a"}`, bearer: "key-reads"}, 403, "forbidden"},
		{post{body: `{"message":"a"}`, kind: "text/plain"}, 400, "invalid_content_type"},
		{post{body: `{"message":"a"}`, key: "no-uuid"}, 400, "invalid_idempotency_key"},
		{post{body: `{"message":"` + strings.Repeat("x", DefaultMaxBatchBytes) + `"}`}, 413, "batch_too_large"},
	} {
		got := d.capture(t, tt.post)
		if got.status != tt.status || !strings.Contains(got.body, tt.says) {
			t.Errorf("%.80s: %.300s, want %d %s", tt.body, got, tt.status, tt.says)
		}
	}
	if n := len(events(d.log)); n != 0 {
		t.Errorf("%d events were appended", n)
	}
}

// Hostile exceptions are exceptions: what is well-formed is taken.
func TestCaptureTakesHostilePayloads(t *testing.T) {
	d := newDoor(t)
	for i, body := range []string{
		`{"message":"` + strings.Repeat("é", 1<<19) + `"}`,
		`{"message":"m","stack":5}`,
		`{"message":"m","stack":[` + strings.Repeat(`{"function":"f","filename":"a.js","lineno":1},`, 9999) + `{}]}`,
		`{"message":"\u0000\u001b[31m\u202e"}`,
		`{"name":"A","message":"m","cause":{"name":"B","cause":{"name":"A"}},"exceptions":[1,null,"x"]}`,
		`{"name":"x","service":{"a":[]},"request":7,"fingerprint":{"no":1},"release":null}`,
	} {
		if got := d.capture(t, post{body: body}); got.status != 200 {
			t.Errorf("payload %d: %.300s", i, got)
		}
	}
}

// A repeated key is one occurrence with one answer.
func TestCaptureIsIdempotent(t *testing.T) {
	d := newDoor(t)
	again := post{body: `{"message":"a"}`, key: "123e4567-e89b-12d3-a456-426614174000"}
	first, second := d.capture(t, again), d.capture(t, again)
	if first.status != 200 || first.body != second.body || second.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("first %v, second %v", first, second)
	}
	if n := len(errorRecords(d)); n != 1 {
		t.Errorf("%d occurrences", n)
	}
}

// Captures and batches share a project's rates.
func TestCaptureCountsAsAnEvent(t *testing.T) {
	clock := newFakeClock()
	d := newDoor(t, func(c *Config) {
		c.Now, c.Rates = clock.Now, limits.Rates{EventsPerSecond: 3, BatchesPerSecond: 100}
	})
	for range 3 {
		if got := d.capture(t, post{body: `{"message":"a"}`}); got.status != 200 || got.header["RateLimit-Policy"] == nil {
			t.Fatal(got)
		}
	}
	d.capture(t, post{body: `{"message":"the debt"}`})
	got := d.capture(t, post{body: `{"message":"a"}`})
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("over the rate: %v", got)
	}
	if got := d.do(t, post{body: oneLog}); got.status != http.StatusTooManyRequests {
		t.Errorf("a batch over the rate: %v", got)
	}
	clock.Add(2 * time.Second)
	if got := d.capture(t, post{body: `{"message":"a"}`}); got.status != 200 {
		t.Errorf("later: %v", got)
	}
}
