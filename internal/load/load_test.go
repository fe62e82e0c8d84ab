package load

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// pretend is a server that takes every batch, counting its events, and pauses now and then.
func pretend(t *testing.T, pause func(n int64) time.Duration, status func(n int64) int) (url string, events *atomic.Int64) {
	events = new(atomic.Int64)
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("X-Service-Signature") == "" || r.Header.Get("Authorization") != "Bearer key" {
			t.Error(err, r.Header)
		}
		i := n.Add(1)
		time.Sleep(pause(i)) // this is the server's slowness, not a wait of the test
		if code := status(i); code != http.StatusOK {
			w.WriteHeader(code)
			return
		}
		var batch struct{ Events []json.RawMessage }
		if err := json.Unmarshal(body, &batch); err != nil {
			t.Error(err)
		}
		events.Add(int64(len(batch.Events)))
		_ = json.NewEncoder(w).Encode(map[string]any{"accepted": len(batch.Events)})
	}))
	t.Cleanup(s.Close)
	return s.URL, events
}

func never(int64) time.Duration { return 0 }
func always(int64) int          { return http.StatusOK }

func TestClosedLoop(t *testing.T) {
	url, events := pretend(t, never, func(n int64) int {
		if n%10 == 0 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	cpu := time.Second
	r, err := Run(t.Context(), Config{
		URL: url, Key: "key", Secret: []byte("s"), Batch: 7, Types: Mixed, Connections: 3, Events: 700,
		CPU: func() (time.Duration, error) { cpu += time.Second; return cpu, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Events < 700 || r.Events > events.Load() || r.Statuses["200"] != r.Batches || r.Statuses["503"] == 0 || r.Errors != 0 {
		t.Errorf("%+v, the server counted %d", r, events.Load())
	}
	if r.CPUSecondsPerMillion == nil || *r.CPUSeconds != 1 {
		t.Errorf("processor time %v", r.CPUSeconds)
	}
}

// A stall shows in the latencies of everything that was due meanwhile.
func TestOpenLoopCountsFromWhenABatchWasDue(t *testing.T) {
	const stall = 300 * time.Millisecond
	url, _ := pretend(t, func(n int64) time.Duration {
		if n == 20 {
			return stall
		}
		return 0
	}, always)
	r, err := Run(t.Context(), Config{URL: url, Key: "key", Secret: []byte("s"), Batch: 1, Types: Logs, Connections: 1, Rate: 100, Duration: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if r.Latency.Max < 290 || r.Latency.P90 < 30 || r.Batches < 50 || r.Batches > 110 {
		t.Errorf("%+v", r)
	}
}

func TestRunRefuses(t *testing.T) {
	for _, c := range []Config{
		{}, {URL: "https://example.com", Batch: 1, Connections: 1, Duration: 1}, {URL: "http://127.0.0.1:1", Batch: 1, Connections: 1, Duration: 1},
		{URL: "http://127.0.0.1:1", Connections: 1, Duration: 1}, {URL: "http://127.0.0.1:1", Batch: 1, Connections: 1},
	} {
		if _, err := Run(t.Context(), c); err == nil {
			t.Errorf("%+v runs", c)
		}
	}
}

func TestBodies(t *testing.T) {
	for _, types := range []string{Logs, Mixed} {
		for _, body := range Bodies(3, 26, types, 1) {
			var batch struct{ Events []struct{ Type string } }
			if err := json.Unmarshal(body, &batch); err != nil || len(batch.Events) != 26 {
				t.Fatal(err, len(batch.Events))
			}
			if size := len(body) / 26; size < 250 || size > 420 {
				t.Errorf("%d bytes an event of %s", size, types)
			}
			if kinds := len(strings.Split(string(body), `"type":"log"`)) - 1; (types == Logs) != (kinds == 26) {
				t.Errorf("%d log events in a body of %s", kinds, types)
			}
		}
	}
}

func TestProcessCPU(t *testing.T) {
	if _, err := ProcessCPU(1 << 30); err == nil {
		t.Error("a process that is not has processor time")
	}
}
