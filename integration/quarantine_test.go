package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

// A record that no fold can take, appended to the log by somebody else's producer, is listed with
// its reason; the partition goes on behind it, and nothing is degraded.
func TestGarbageInTheLog(t *testing.T) {
	s := serve(t, unlimited...)
	who, token, brokers := s.project("quarantine"), adminToken(t, s), s.doctor().Log.Brokers
	const garbage, topic = "\x00\xffno JSON \x1b[31m", "weir.events.cost"
	appendGarbage(t, brokers, topic, garbage)
	sent := []byte(`{"events":[{"type":"cost","ts":"2026-11-21T12:00:00Z","data":{"provider":"aws","service":"s3","amount":1.50,"currency":"EUR"}}]}`)
	if a, err := post(s.base(), who, sent, ""); err != nil || a.status != http.StatusOK || !strings.Contains(string(a.body), `"accepted":1`) {
		t.Fatal(a, err)
	}
	folded(t, s, token, brokers, time.Minute) // every projection is ok, too
	rollups, err := pages[rollup](s.base(), who.APIKey, "/api/cost/rollups", url.Values{})
	if err != nil || len(rollups) != 1 || rollups[0].Events != 1 {
		t.Errorf("behind the garbage: %+v, %v", rollups, err)
	}
	for _, name := range []string{"costs", "history"} {
		listsGarbage(t, s, name, topic)
		var v struct{ Equal bool }
		if s.admin(&v, "verify", name); !v.Equal {
			t.Errorf("weir verify %s: not equal", name)
		}
	}
	o := weir(t, s.env, "quarantine", "retry", "costs", "--reason", "no event", "--json", "--server", s.base(), "--data", s.data)
	if o.code != 1 || !strings.Contains(o.stdout, `"asked_for":1,"generation":1,"asked":0,"refused":1`) {
		t.Errorf("a retry without a fix: exit code %d, said %s %s", o.code, o.stdout, o.stderr)
	}
	if o := weir(t, s.env, "quarantine", "list", "costs", "--server", s.base(), "--data", s.data); !strings.Contains(o.stdout, "refused") {
		t.Errorf("after it: %s %s", o.stdout, o.stderr)
	}
	a, err := get(s.base(), "", "/api/cost/status", nil)
	if err != nil || a.status != http.StatusOK || !strings.Contains(string(a.body), `"status":"ok"`) {
		t.Errorf("GET /api/cost/status: %s %v", a, err)
	}
	a, err = get(s.base(), who.APIKey, "/api/projections/costs/quarantine", nil)
	if err != nil || a.status != http.StatusForbidden {
		t.Errorf("a project's key reads the quarantine: %s %v", a, err)
	}
}

// listsGarbage asks as an operator does: by the verb.
func listsGarbage(t *testing.T, s *server, projection, topic string) {
	t.Helper()
	var listed []struct {
		Projection, Topic, Reason, Payload string
		Offset                             int64
		Generation                         int
		ReceivedAt                         time.Time `json:"received_at"`
	}
	s.admin(&listed, "quarantine", "list", projection)
	if len(listed) != 1 {
		t.Fatalf("weir quarantine list %s: %+v", projection, listed)
	}
	if r := listed[0]; r.Projection != projection || r.Topic != topic || r.Offset != 0 || r.Generation != 1 || r.Reason == "" ||
		r.Payload != "\x00\uFFFDno JSON \x1b[31m" || time.Since(r.ReceivedAt).Abs() > time.Hour {
		shown, _ := json.Marshal(r)
		t.Errorf("weir quarantine list %s: %s", projection, shown)
	}
	t.Logf("%s: %s", projection, listed[0].Reason)
	o := weir(t, s.env, "quarantine", "list", "--server", s.base(), "--data", s.data)
	if o.code != 0 || !strings.Contains(o.stdout, topic) || strings.Contains(o.stdout, "\x1b") || !strings.Contains(o.stderr, "weir rebuild "+projection) {
		t.Errorf("weir quarantine list: exit code %d, said %s %s", o.code, o.stdout, o.stderr)
	}
}

func appendGarbage(t *testing.T, brokers []string, topic, value string) {
	t.Helper()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(brokers...), Timeout: 20 * time.Second, Transport: transport}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	answer, err := client.Produce(ctx, &kafka.ProduceRequest{
		Topic: topic, Partition: 0, RequiredAcks: kafka.RequireAll,
		Records: kafka.NewRecordReader(kafka.Record{Time: time.Now(), Value: kafka.NewBytes([]byte(value))}),
	})
	if err == nil && answer.Error != nil {
		err = fmt.Errorf("refused: %w", answer.Error)
	}
	if err != nil {
		t.Fatalf("appending to %s: %v", topic, err)
	}
}
