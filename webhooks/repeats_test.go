package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/eventlog"
	"weir/schemas"
)

// postAs calls the API as the project prj does.
func postAs(router http.Handler, path, body string, header ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer prj")
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	router.ServeHTTP(w, req)
	return w
}

// newNode is a process that answers requests.
func newNode(t *testing.T, log *eventlog.Log, b *book) http.Handler {
	t.Helper()
	repeats := NewRepeats(log)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = repeats.Run(ctx)
	}()
	t.Cleanup(func() { stop(); <-done })
	router := chi.NewRouter()
	NewAPI(APIConfig{Log: log, Decider: NewDecider(log, b, nil), Auth: keys{}, Projects: func(string) bool { return true }, History: shelf{}, Repeats: repeats}).Routes(router)
	return router
}

// An idempotency key has one effect and one answer, on every node at once, and after a restart.
func TestRepeatedDeliver(t *testing.T) {
	log := openLog(t, startBroker(t))
	b := newBook()
	r := newReceiver(t, nil)
	b.add("ep_1", KindHTTP, r.URL)
	b.add("ep_2", KindHTTP, r.URL)
	nodes := []http.Handler{newNode(t, log, b), newNode(t, log, b)}
	const key = "123e4567-e89b-12d3-a456-426614174000"
	answers := map[string]int{}
	var mu sync.Mutex
	var calls sync.WaitGroup
	for i := range 12 {
		calls.Go(func() {
			w := postAs(nodes[i%2], "/api/webhooks/deliver", fmt.Sprintf(`{"event_type":"deploy.done","payload":%d}`, i), headerIdempotency, key)
			mu.Lock()
			defer mu.Unlock()
			answers[fmt.Sprint(w.Code, w.Body)]++
		})
	}
	calls.Wait()
	late := postAs(newNode(t, log, b), "/api/webhooks/deliver", `{"event_type":"deploy.done","payload":null}`, headerIdempotency, strings.ToUpper(key))
	answers[fmt.Sprint(late.Code, late.Body)]++
	if len(answers) != 1 || late.Code != http.StatusAccepted || late.Header().Get(headerReplayed) != "true" {
		t.Fatalf("one key, and these answers: %v", answers)
	}
	var made owedAnswer
	if err := json.Unmarshal(late.Body.Bytes(), &made); err != nil || len(made.Deliveries) != 2 {
		t.Fatalf("%v %s", err, late.Body)
	}
	startLane(t, log, b)
	await(t, log, made.Deliveries[0].ID, made.Deliveries[1].ID)
	other := postAs(nodes[0], "/api/webhooks/deliver", `{"endpoint_id":"ep_1","payload":1}`, headerIdempotency, "123e4567-e89b-12d3-a456-426614174001")
	var last owedAnswer
	_ = json.Unmarshal(other.Body.Bytes(), &last)
	await(t, log, last.Deliveries[0].ID)
	if n := len(r.got); n != 3 {
		t.Errorf("%d requests were sent, want 3", n)
	}
	for _, bad := range [][]string{{"x"}, {key, key}, {""}} {
		var headers []string
		for _, one := range bad {
			headers = append(headers, headerIdempotency, one)
		}
		if w := postAs(nodes[0], "/api/webhooks/deliver", `{"endpoint_id":"ep_1","payload":1}`, headers...); w.Code != http.StatusBadRequest {
			t.Errorf("%q: %s", bad, w.Body)
		}
	}
}

// A new endpoint gets what it missed from a position of the log on, in as many requests
// as it takes.
func TestMissedFromAPosition(t *testing.T) {
	log := openLog(t, startBroker(t))
	b := newBook()
	b.add("ep_old", KindHTTP, "http://127.0.0.1:1")
	node := newNode(t, log, b)
	topic := eventlog.EventsTopic(schemas.Deploy)
	event := func() (at string) {
		first, err := log.Append(t.Context(), topic, 0, eventlog.Set{Key: []byte("prj"), Batch: digest("event", randomID()), Time: time.Now(), Values: [][]byte{[]byte("{}")}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond) // the log's times are of milliseconds
		return fmt.Sprintf("deploy:0:%d", first)
	}
	d := NewDecider(log, b, nil)
	decide(t, d, 3, Occasion{Type: "deploy.before"})
	time.Sleep(2 * time.Millisecond)
	at := event()
	decide(t, d, maxRecover+5, Occasion{Type: "deploy.after"})
	b.add("ep_new", KindHTTP, "http://127.0.0.1:1")
	ask := func(body string) (a recoverAnswer) {
		t.Helper()
		w := postAs(node, "/api/webhooks/endpoints/ep_new/recover", body)
		if w.Code >= 300 || json.Unmarshal(w.Body.Bytes(), &a) != nil {
			t.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
		return a
	}
	first := ask(`{"include":"missed","from":"` + at + `"}`)
	if first.Scheduled != maxRecover || first.Next == nil {
		t.Fatalf("%d scheduled, next %v", first.Scheduled, first.Next)
	}
	rest := ask(`{"include":"missed","from":"` + *first.Next + `"}`)
	if rest.Scheduled != 5 || rest.Next != nil {
		t.Errorf("%d scheduled, next %v", rest.Scheduled, rest.Next)
	}
	ids := map[string]bool{}
	for _, one := range append(first.Owed, rest.Owed...) {
		ids[one.ID] = true
	}
	if len(ids) != maxRecover+5 {
		t.Errorf("%d deliveries, want %d", len(ids), maxRecover+5)
	}
	for _, from := range []string{"deploy:0:99", "deploy:7:0", "weir.control:0:0", "deploy", "nothing:0:0"} {
		if w := postAs(node, "/api/webhooks/endpoints/ep_new/recover", `{"include":"missed","from":"`+from+`"}`); w.Code != http.StatusBadRequest {
			t.Errorf("from %s: %d %s", from, w.Code, w.Body)
		}
	}
	if w := postAs(node, "/api/webhooks/endpoints/ep_new/recover", `{"from":"`+*first.Next+`"}`); w.Code != http.StatusBadRequest {
		t.Errorf("failed, from a position of the lane: %d %s", w.Code, w.Body)
	}
}
