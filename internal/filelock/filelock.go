// Package filelock keeps processes of one machine apart by locked files: one fetches, the others
// wait; one uses a folder, the others are refused.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ErrHeld says that another process, or another part of this one, holds the lock.
var ErrHeld = errors.New("locked by another process")

// retryEvery is how often a waiter looks again; the kernel wakes nobody up.
const retryEvery = 100 * time.Millisecond

// Try takes the lock of the file, made when missing, or returns ErrHeld at once. The kernel lets
// go of it when the process ends, however it ends; the file stays.
func Try(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", name, ErrHeld)
		}
		return nil, fmt.Errorf("locking %s: %w", name, err)
	}
	return func() { _ = f.Close() }, nil
}

// Wait takes the lock as soon as it is free, or fails when the context ends.
func Wait(ctx context.Context, name string) (unlock func(), err error) {
	tick := time.NewTicker(retryEvery)
	defer tick.Stop()
	for {
		unlock, err := Try(name)
		if !errors.Is(err, ErrHeld) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the lock %s: %w", name, ctx.Err())
		case <-tick.C:
		}
	}
}
