package eventlog

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A member that was paused for longer than its session knows so before any heartbeat
// tells it: it asks before it writes, and the assignment ends then.
func TestHeldEndsWithTheSession(t *testing.T) {
	a := &Assignment{log: &Log{cfg: Config{SessionTimeout: time.Second}}, group: "g"}
	a.ctx, a.cancel = context.WithCancelCause(t.Context())
	heard := time.Now()
	if a.heard.Store(&heard); !a.Held() || a.ctx.Err() != nil {
		t.Error("not held right after a heartbeat")
	}
	paused := heard.Add(-2 * time.Second)
	if a.heard.Store(&paused); a.Held() || !errors.Is(context.Cause(a.ctx), ErrStale) {
		t.Errorf("held after two sessions of silence, or the assignment goes on: %v", context.Cause(a.ctx))
	}
}
