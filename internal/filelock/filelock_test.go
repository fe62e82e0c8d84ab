package filelock_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/filelock"
)

func TestOneHolder(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	unlock, err := filelock.Try(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Try(name); !errors.Is(err, filelock.ErrHeld) {
		t.Fatalf("a second Try: %v, expected ErrHeld", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := filelock.Wait(ctx, name); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Wait while held: %v, expected the context's error", err)
	}
	unlock()
	again, err := filelock.Wait(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
