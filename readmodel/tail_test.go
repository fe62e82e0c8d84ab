package readmodel

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/internal/httpapi"
)

// sse is one server-sent event.
type sse struct{ id, name, data, comment string }

// stream reads a tail; its channel ends with the stream.
func (p *portal) stream(key, path, lastID string) (events <-chan sse, stop func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, p.server.URL+path, nil)
	r.Header.Set("Authorization", "Bearer "+key)
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		p.t.Fatalf("tail: %d %v", resp.StatusCode, resp.Header)
	}
	out := make(chan sse)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(out)
		defer resp.Body.Close()
		readSSE(ctx, bufio.NewReader(resp.Body), out)
	}()
	return out, func() { cancel(); <-done }
}

func readSSE(ctx context.Context, body *bufio.Reader, out chan<- sse) {
	var e sse
	for {
		line, err := body.ReadString('\n')
		if err != nil {
			return
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data += value
		case "":
			if line != "\n" {
				e.comment = value
				continue
			}
			select {
			case out <- e:
			case <-ctx.Done():
				return
			}
			e = sse{}
		}
	}
}

// next is the next event with data, or what came instead within the test's time.
func next(t *testing.T, events <-chan sse) sse {
	t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case e, ok := <-events:
			if !ok {
				t.Fatal("the stream ended")
			}
			if e.data != "" {
				return e
			}
		case <-timeout:
			t.Fatal("no event within 10 s")
		}
	}
}

func message(t *testing.T, e sse) string {
	t.Helper()
	var v struct {
		Data struct{ Message string }
	}
	if err := json.Unmarshal([]byte(e.data), &v); err != nil {
		t.Fatalf("%v in %q", err, e.data)
	}
	return v.Data.Message
}

func TestTail(t *testing.T) {
	p := newPortal(t)
	say := func(partition uint32, offset int64, text string, received time.Time) {
		p.events(row{data: "{\"message\":\n\r\"" + text + `","level":"info"}`, partition: partition, offset: offset, received: received})
	}
	now := time.Now()
	say(0, 1, "before", now)
	events, stop := p.stream("one", "/api/events/tail?where="+url.QueryEscape("level=info"), "")
	opening := <-events
	if opening.id == "" {
		t.Fatal("no id to resume from before the first event")
	}
	say(0, 2, "a", now)
	a := next(t, events)
	if message(t, a) != "a" {
		t.Fatalf("got %+v", a)
	}
	say(1, 1, "b", now.Add(-10*time.Second)) // another partition, folded late
	if b := next(t, events); message(t, b) != "b" {
		t.Fatalf("got %+v", b)
	}
	p.events(row{data: `{"message":"foreign","level":"info"}`, project: "prj_two", offset: 3}, row{data: `{"message":"other","level":"warn"}`, offset: 4})
	say(0, 5, "c", now)
	c := next(t, events)
	if message(t, c) != "c" {
		t.Fatalf("got %+v", c)
	}
	stop()

	say(0, 6, "d", now)
	resumed, stop := p.stream("one", "/api/events/tail?where=level%3Dinfo", a.id)
	defer stop()
	for _, want := range []string{"b", "c", "d"} {
		if got := message(t, next(t, resumed)); got != want {
			t.Fatalf("resumed: got %s, want %s", got, want)
		}
	}
}

// TestTailGivesEachEventOnce resumes from every id of a long stream over several partitions.
func TestTailGivesEachEventOnce(t *testing.T) {
	p := newPortal(t)
	events, stop := p.stream("one", "/api/events/tail", "")
	opening := <-events
	now := time.Now()
	const partitions, each = 3, 250
	var rows []row
	for i := range partitions * each {
		rows = append(rows, row{data: fmt.Sprintf(`{"message":"%d"}`, i), partition: uint32(i % partitions), offset: int64(i / partitions),
			received: now.Add(time.Duration(i*7919%1000) * time.Millisecond)})
	}
	p.events(rows...)
	seen, last := map[string]bool{}, opening.id
	for len(seen) < len(rows) {
		e := next(t, events)
		if m := message(t, e); seen[m] {
			t.Fatalf("%s twice", m)
		} else {
			seen[m], last = true, e.id
		}
		if len(seen)%97 == 0 {
			stop()
			events, stop = p.stream("one", "/api/events/tail?last_event_id="+url.QueryEscape(last), "")
		}
	}
	stop()
}

// TestTailLeavesNothing looks for goroutines after clients have left in the middle of a stream.
func TestTailLeavesNothing(t *testing.T) {
	p := newPortal(t)
	p.get("one", "/api/events")
	http.DefaultClient.CloseIdleConnections()
	before := goleak.IgnoreCurrent()
	for range 3 {
		events, stop := p.stream("one", "/api/events/tail", "")
		<-events
		stop()
	}
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, before)
	if n := p.reader.tails.Load(); n != 0 {
		t.Errorf("%d tails are still counted", n)
	}
}

func TestTailIsBounded(t *testing.T) {
	p := newPortal(t, func(c *Config) { c.MaxTails = 1; c.Heartbeat = time.Millisecond })
	events, stop := p.stream("one", "/api/events/tail", "")
	<-events
	if detail := p.problem("one", "/api/events/tail", 503, "overloaded"); !strings.Contains(detail, "1 tails") {
		t.Error(detail)
	}
	if beat := <-events; beat.comment == "" || beat.id == "" {
		t.Errorf("no heartbeat: %+v", beat)
	}
	p.reader.Close()
	for range events { // ends, because the Reader is closed
	}
	stop()
}

func TestTailFromLongAgoTellsTheGap(t *testing.T) {
	p := newPortal(t)
	events, stop := p.stream("one", "/api/events/tail", "1700000000000;log:0:5")
	defer stop()
	gap := <-events
	if gap.name != "gap" || !strings.Contains(gap.data, `"from":"2023-11-14T22:13:20Z"`) {
		t.Errorf("%+v", gap)
	}
}

// revocable is an Authenticator whose only key can be revoked.
type revocable struct{ revoked chan struct{} }

func (a revocable) Authenticate(string) (httpapi.Principal, bool) {
	select {
	case <-a.revoked:
		return httpapi.Principal{}, false
	default:
		return testKeys["one"], true
	}
}

func TestTailEndsWithItsKey(t *testing.T) {
	auth := revocable{make(chan struct{})}
	p := newPortal(t, func(c *Config) { c.Auth = auth })
	events, stop := p.stream("any", "/api/events/tail", "")
	defer stop()
	<-events
	close(auth.revoked)
	for range events { // ends by itself
	}
}

func TestTailStateRoundTrip(t *testing.T) {
	s := tailState{time.UnixMilli(1763640000123).UTC(), map[place]int64{{"log", 0}: 5, {"feature_flag", 11}: 1 << 60}}
	got, err := parseTailState(s.String())
	if err != nil || got.String() != s.String() || len(got.next) != 2 {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"", ";", "x;", "-1;", "1", "1;weir.control:0:1", "1;log:0", "99999999999999999999;log:0:1", "1;nothing:0:1"} {
		if _, err := parseTailState(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
