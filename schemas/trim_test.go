package schemas

import (
	"runtime"
	"strings"
	"testing"
)

// TestTrim: what a body of very many names took is given back, and its events stay.
func TestTrim(t *testing.T) {
	const head, name, tail = `{"events":[{"type":"log","ts":"2026-11-21T00:00:00Z","data":{"message":"m"}},{"x":{"":0`, `,"":0`, `}}]}`
	body := []byte(head + strings.Repeat(name, (5<<20-len(head)-len(tail))/len(name)) + tail)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var batch Batch
	if err := batch.Parse(body); err != nil {
		t.Fatal(err)
	}
	batch.Trim()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 4<<20 {
		t.Errorf("%d bytes are still held for a body of %d", held, len(body))
	}
	if len(batch.Events) != 1 || len(batch.Rejected) != 1 {
		t.Errorf("%d events and %d rejections are left", len(batch.Events), len(batch.Rejected))
	}
	runtime.KeepAlive(body)
	runtime.KeepAlive(&batch)
}
