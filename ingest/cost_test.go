package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"weir/eventlog"
	"weir/ingest/limits"
	"weir/schemas"
)

// discard is a log that takes everything and keeps nothing.
type discard struct{ Log }

func (discard) Append(_ context.Context, _ string, _ int, s eventlog.Set) (int64, error) {
	return 0, nil
}
func (discard) Fits(string, eventlog.Set) error   { return nil }
func (discard) PartitionFor(string, [16]byte) int { return 0 }

func discarding(t testing.TB) *Handler {
	t.Helper()
	h, err := New(Config{
		Log: discard{}, Directory: everybody(), Gateway: "one",
		Rates: limits.Rates{EventsPerSecond: 1 << 30, BatchesPerSecond: 1 << 30},
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// again is a request that can be sent many times, and a writer that forgets.
type again struct {
	r    *http.Request
	body *bytes.Reader
	text []byte
	head http.Header
	code int
}

func newAgain(t testing.TB, body string) *again {
	a := &again{r: post{body: body}.request(t, "/api/ingest"), text: []byte(body), body: bytes.NewReader(nil), head: http.Header{}}
	a.r.Body = io.NopCloser(a.body)
	return a
}

func (a *again) Header() http.Header         { return a.head }
func (a *again) Write(b []byte) (int, error) { return len(b), nil }
func (a *again) WriteHeader(code int)        { a.code = code }

func (a *again) send(t testing.TB, h http.Handler) {
	clear(a.head)
	a.body.Reset(a.text)
	h.ServeHTTP(a, a.r)
	if a.code != 200 {
		t.Fatal("status", a.code)
	}
}

// A batch allocates the same few things whatever its size; an event, nothing.
func TestAllocations(t *testing.T) {
	h := discarding(t)
	var each [2]float64
	for i, n := range []int{1, 1000} {
		a := newAgain(t, logBatch(n))
		a.send(t, h)
		each[i] = testing.AllocsPerRun(50, func() { a.send(t, h) })
	}
	t.Logf("allocations of a batch of 1: %.0f, of 1000: %.0f", each[0], each[1])
	most := 20.0 // a garbage collection in between empties the pools
	if raceEnabled {
		most *= 2 // the race detector has pools forget one thing in four
	}
	if each[0] > most || each[1] > most+10 {
		t.Errorf("allocations of a batch of 1: %.0f, of 1000: %.0f, want at most %.0f", each[0], each[1], most)
	}
}

func BenchmarkDoor(b *testing.B)     { benchmarkBatches(b, discarding(b)) }
func BenchmarkBaseline(b *testing.B) { benchmarkBatches(b, baseline(everybody())) }

func benchmarkBatches(b *testing.B, h http.Handler) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a := newAgain(b, logBatch(n))
			b.SetBytes(int64(len(a.text)))
			b.ReportAllocs()
			for b.Loop() {
				a.send(b, h)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
		})
	}
}

// baseline is the door as it is usually written: encoding/json, a struct per
// event, the event encoded again, a record each. It makes the same checks of
// the headers and of log events, and drops its records like discard.
func baseline(who people) http.Handler {
	type event struct {
		Type string                     `json:"type"`
		TS   string                     `json:"ts"`
		Data map[string]json.RawMessage `json:"data"`
	}
	type rejection struct {
		Index  int    `json:"index"`
		Reason string `json:"reason"`
	}
	check := func(e event) error {
		if _, ok := schemas.ParseType(e.Type); !ok {
			return errors.New("type: unknown value")
		}
		if ts, err := time.Parse(time.RFC3339Nano, e.TS); err != nil || ts.Year() < 1970 || ts.Year() > 2200 {
			return errors.New("ts: must be an ISO 8601 timestamp in UTC")
		}
		for _, name := range []string{"level", "message", "module"} {
			var s string
			if raw, ok := e.Data[name]; ok && json.Unmarshal(raw, &s) != nil {
				return fmt.Errorf("data.%s: must be a string", name)
			}
		}
		var fields map[string]any
		if json.Unmarshal(e.Data["fields"], &fields) != nil {
			return errors.New("data.fields: must be an object")
		}
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, ok := who.Lookup(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, DefaultMaxBatchBytes))
		if !ok || err != nil || !new(signer).signed(caller.Secret, body, r.Header.Get(headerSignature)) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		var batch struct {
			Events []event `json:"events"`
		}
		if json.Unmarshal(body, &batch) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answer := struct {
			Accepted int         `json:"accepted"`
			Rejected []rejection `json:"rejected"`
		}{Rejected: []rejection{}}
		var records []kafka.Message
		for i, e := range batch.Events {
			if err := check(e); err != nil {
				answer.Rejected = append(answer.Rejected, rejection{i, err.Error()})
				continue
			}
			value, err := json.Marshal(e)
			if err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			records = append(records, kafka.Message{Topic: eventlog.EventsTopic(schemas.Log), Key: []byte(caller.ProjectID), Value: value})
		}
		answer.Accepted = len(records)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_ = json.NewEncoder(w).Encode(answer)
	})
}

func TestBaselineAnswersTheSame(t *testing.T) {
	a := newAgain(t, logBatch(3))
	for _, h := range []http.Handler{discarding(t), baseline(everybody())} {
		w := httptest.NewRecorder()
		a.body.Reset(a.text)
		h.ServeHTTP(w, a.r)
		if got := strings.TrimSpace(w.Body.String()); got != `{"accepted":3,"rejected":[]}` {
			t.Error(got)
		}
	}
}
