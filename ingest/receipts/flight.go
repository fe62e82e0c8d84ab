package receipts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/eventlog"
)

// ErrNotReady means that the receipts have not been read to their end yet, or
// can't be read any more. Over HTTP: 503 with Retry-After.
var ErrNotReady = errors.New("the receipts of idempotency keys are still being read")

// BusyError means that the key's batch is still being processed, or that its
// owner may have died and its lease has not ended. Over HTTP: 503 with Retry-After.
type BusyError struct{ RetryAfter time.Duration }

// Error says what is going on.
func (e *BusyError) Error() string {
	return fmt.Sprintf("a batch with the same idempotency key is still under way; retry in %v", e.RetryAfter)
}

// Answer is what a key was answered.
type Answer struct {
	Body      []byte // exact bytes of the response
	Positions string // text form of eventlog.Positions, "" for none
}

// Flight is one request's hold on a key. Within a process there is one at a
// time for each key; others wait in Begin. End it exactly once.
type Flight struct {
	book      *Book
	key       Key
	hash      [16]byte
	partition int
	woken     chan struct{} // capacity 1: a record of the key was folded
	over      chan struct{} // closed by End
	mine      claim
	sent      bool // events may be on their way under mine
}

// Begin waits for every batch with the same key that is under way, here or in
// another gateway. It returns the answer if there is one: then flight is nil
// and the request is a repeat. Otherwise the request may be the first: the
// flight is its to End.
func (b *Book) Begin(ctx context.Context, key Key) (*Flight, *Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Wait)
	defer cancel()
	f, err := b.take(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	a, err := f.await(ctx)
	if a != nil || err != nil {
		f.End()
		return nil, a, err
	}
	return f, nil, nil
}

// take waits until no other request of this process has the key.
func (b *Book) take(ctx context.Context, key Key) (*Flight, error) {
	hash := key.hash()
	for {
		b.mu.Lock()
		if !b.ready {
			b.mu.Unlock()
			return nil, ErrNotReady
		}
		other := b.flights[hash]
		if other == nil {
			f := &Flight{
				book: b, key: key, hash: hash, partition: b.cfg.Log.PartitionFor(eventlog.ReceiptsTopic, hash),
				woken: make(chan struct{}, 1), over: make(chan struct{}),
			}
			b.flights[hash] = f
			b.mu.Unlock()
			return f, nil
		}
		b.mu.Unlock()
		select {
		case <-other.over:
		case <-ctx.Done():
			return nil, &BusyError{time.Second}
		}
	}
}

// End gives the key free. When events were sent under its claim and their
// append did not end well, they may still reach the log, so the claim is held
// for the rest of its lease.
func (f *Flight) End() {
	f.book.mu.Lock()
	defer f.book.mu.Unlock()
	if f.sent {
		f.book.uncertain[f.hash] = f.mine.at.Add(f.book.cfg.Lease)
	}
	delete(f.book.flights, f.hash)
	close(f.over)
}

// wake never blocks: one waking is enough, for the waiter looks at the index again.
func (f *Flight) wake() {
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// await returns the key's answer, or nil when the key is free to be claimed.
func (f *Flight) await(ctx context.Context) (*Answer, error) {
	for {
		at, settled, busy, err := f.look()
		switch {
		case err != nil:
			return nil, err
		case settled:
			return f.readBack(ctx, at)
		case busy <= 0:
			return nil, nil
		}
		if err := f.wait(ctx, busy); err != nil {
			return nil, err
		}
	}
}

// look asks the index: the place of the answer, or for how long another's claim is live.
func (f *Flight) look() (at place, settled bool, busy time.Duration, err error) {
	b := f.book
	now := b.cfg.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ready {
		return at, false, 0, ErrNotReady
	}
	if at, settled = b.index.answerOf(f.hash, now); settled {
		return at, true, 0, nil
	}
	c, claimed := b.index.claimed[f.hash]
	switch until, uncertain := b.uncertain[f.hash]; {
	case uncertain && now.Before(until):
		busy = until.Sub(now)
	case claimed && c.gateway != b.cfg.Gateway && b.index.live(c, now):
		busy = c.at.Add(b.cfg.Lease).Sub(now)
	}
	return at, false, busy, nil
}

// wait returns when the key should be looked at again.
func (f *Flight) wait(ctx context.Context, busy time.Duration) error {
	timer := time.NewTimer(busy)
	defer timer.Stop()
	select {
	case <-f.woken:
	case <-timer.C:
	case <-f.book.done:
		return ErrNotReady
	case <-ctx.Done():
		return &BusyError{busy}
	}
	return nil
}
