package foldtest

import (
	"context"
	"testing"
	"time"

	"weir/eventlog"
)

// Runner is a projector or a monitor.
type Runner interface {
	Run(ctx context.Context) error
}

// Waiter is a monitor.
type Waiter interface {
	Wait(ctx context.Context, projection string, until eventlog.Positions) error
}

// Until runs a projector until it has folded everything before the positions.
func Until(t testing.TB, r Runner, w Waiter, projection string, until ...eventlog.Position) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.Run(ctx)
	}()
	err := w.Wait(ctx, projection, until)
	cancel()
	<-done
	if err != nil {
		t.Fatal(err)
	}
}
