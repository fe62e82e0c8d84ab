package ingest

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Requests of one moment share a deadline; nobody's wait is shorter than asked for.
func TestWaits(t *testing.T) {
	var w waits
	const d = 20 * time.Millisecond
	began := time.Now()
	first := w.context(d)
	if w.context(d) != first && time.Since(began) < waitsShared {
		t.Error("two requests of one moment have two contexts")
	}
	<-first.Done()
	if took := time.Since(began); took < d+waitsShared || !errors.Is(context.Cause(first), context.DeadlineExceeded) {
		t.Errorf("ended after %v: %v", took, context.Cause(first))
	}
	if next := w.context(d); next == first || next.Err() != nil {
		t.Error("a later request got a context that has ended")
	}
}
