package webhooks

import (
	"bytes"
	"net/http"
	"strconv"
	"testing"
	"time"

	"weir/webhooks/signing"
)

func TestDelivers(t *testing.T) {
	log := openLog(t, startBroker(t))
	b := newBook()
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n < 2 {
			w.Header().Set("Set-Cookie", "session=geheim")
			w.WriteHeader(500)
			_, _ = w.Write([]byte("oh no, token-123456"))
		}
	})
	b.add("ep_1", KindHTTP, r.URL, func(ep *Endpoint) {
		ep.Headers = map[string]func() string{"X-Token": func() string { return "token-123456" }}
	})
	l := startLane(t, log, b)
	ids := decide(t, l.Decider(), 1, Occasion{Type: "deploy.succeeded"})
	for i := range 3 {
		s := r.next(t)
		if s.id != ids[0] || s.h.Get("X-Token") != "token-123456" {
			t.Errorf("attempt %d has id %s and headers %v", i+1, s.id, s.h)
		}
		if err := signing.Verify(s.h, []byte(s.body), testKey(1), time.Now()); err != nil {
			t.Error(err)
		}
	}
	got := await(t, log, ids...)[ids[0]]
	if len(got) != 3 {
		t.Fatalf("%d attempts in the history, want 3", len(got))
	}
	for i, a := range got {
		want := statusRetrying
		if i == 2 {
			want = statusSucceeded
		}
		if a.Attempt != i+1 || a.DeliveryStatus != want || a.KeyID != "whk_1" || a.EndpointVersion != 1 || a.RequestHeaders["x-token"] != redacted {
			t.Errorf("attempt %d: %+v", i+1, a.attemptData)
		}
		if bytes.Contains(a.record.Value, []byte("token-123456")) || bytes.Contains(a.record.Value, []byte("geheim")) {
			t.Errorf("a secret is in the history: %s", a.record.Value)
		}
		unix, _ := strconv.ParseInt(a.RequestHeaders[signing.HeaderTimestamp], 10, 64)
		if unix == 0 || a.Status != statusFailed && i < 2 || i < 2 && (a.StatusCode != 500 || a.Failure != FailureStatus) {
			t.Errorf("attempt %d: %+v", i+1, a.attemptData)
		}
	}
}
