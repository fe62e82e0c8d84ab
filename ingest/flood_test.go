package ingest

import (
	"strings"
	"testing"
)

// A body can hold millions of malformed events. Each that fits into the memory
// is listed; beyond that the batch is refused for good, not shed for ever.
func TestMalformedFlood(t *testing.T) {
	d := newDoor(t)
	flood := func(n int) post { return post{body: `{"events":[` + strings.Repeat("1,", n-1) + `1]}`} }
	if got := d.do(t, flood(200_000)); got.status != 200 || strings.Count(got.body, "must be an object") != 200_000 {
		t.Errorf("status %d, %d bytes", got.status, len(got.body))
	}
	if got := d.do(t, flood(2_000_000)); got.status != 413 {
		t.Error(got.status, got.code)
	}
	with := flood(200_000)
	with.key = someKey
	if got := d.do(t, with); got.status != 413 {
		t.Error("an answer too long to be kept:", got.status, got.code)
	}
	// Many commas need not mean many events.
	wide := `{"events":[{"type":"log","ts":"2026-11-21T12:00:00Z","data":{"message":"","fields":{"a":[` + strings.Repeat("1,", 2_000_000) + `1]}}}]}`
	if got := d.do(t, post{body: wide}); got.status != 200 || d.budget.used.Load() != 0 {
		t.Error(got, d.budget.used.Load())
	}
}
