package receipts

import (
	"context"
	"time"

	"weir/eventlog"
)

// Claim is the right to process a key's batch.
type Claim struct {
	// Batch id to append the events under.
	Batch [16]byte

	// Takeover says that an earlier owner may have appended some of the events:
	// look for them with Find before appending.
	Takeover bool

	// Since is when the first owner claimed the key: its events are not older.
	Since time.Time
}

// Claim appends a claim and waits until the own tail has read it. It returns
// the claim when this flight is the owner. When another gateway was first, it
// waits for its receipt and returns that answer instead.
//
// An error means that nothing of the batch was appended here.
func (f *Flight) Claim(ctx context.Context) (Claim, *Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, f.book.cfg.Wait)
	defer cancel()
	for {
		offset, at, err := f.appendClaim(ctx)
		if err != nil {
			return Claim{}, nil, err
		}
		owner, err := f.decided(ctx, offset)
		if err != nil {
			return Claim{}, nil, err
		}
		// A late owner could overlap with whoever takes over: leave it to them.
		if owner && f.book.cfg.Now().Sub(at) > f.book.cfg.Wait {
			return Claim{}, nil, &BusyError{time.Second}
		}
		if owner {
			return f.claim(), nil, nil
		}
		a, err := f.await(ctx)
		if a != nil || err != nil {
			return Claim{}, a, err
		}
	}
}

func (f *Flight) claim() Claim {
	return Claim{
		Batch:    batchOf(f.hash, f.mine.origin),
		Takeover: f.mine.takeover,
		Since:    time.UnixMilli(f.mine.origin),
	}
}

func (f *Flight) appendClaim(ctx context.Context) (offset int64, at time.Time, err error) {
	at = f.book.cfg.Now().Truncate(time.Millisecond)
	value := appendClaim(make([]byte, 0, 64), at.UnixMilli(), f.book.cfg.Gateway)
	offset, err = f.append(ctx, at, value)
	return offset, at, err
}

func (f *Flight) append(ctx context.Context, at time.Time, value []byte) (int64, error) {
	return f.book.cfg.Log.Append(ctx, eventlog.ReceiptsTopic, f.partition, eventlog.Set{
		Key: []byte(f.key.Project), Batch: f.hash, Time: at, Values: [][]byte{value},
	})
}

// decided waits until the record at offset is folded and says whether it made
// this flight the owner.
func (f *Flight) decided(ctx context.Context, offset int64) (owner bool, err error) {
	for {
		f.book.mu.Lock()
		folded := f.book.read[f.partition] > offset
		c, claimed := f.book.index.claimed[f.hash]
		f.book.mu.Unlock()
		if folded {
			owner = claimed && c.place.partition == f.partition && c.place.offset == offset
			if owner {
				f.mine = c
			}
			return owner, nil
		}
		select {
		case <-f.woken:
		case <-f.book.done:
			return false, ErrNotReady
		case <-ctx.Done():
			return false, &BusyError{time.Second}
		}
	}
}

// Sending must be called before the first event is appended, Sent when every
// append has been acknowledged. Between them the events may reach the log even
// if their append fails.
func (f *Flight) Sending() { f.sent = true }

// Sent says that nothing of the batch is on its way any more.
func (f *Flight) Sent() { f.sent = false }

// Settle appends the receipt and returns what to answer: a itself, or the
// receipt that another owner of the same batch wrote first. On an error the
// receipt may or may not stand; a repeat finds out.
func (f *Flight) Settle(ctx context.Context, a Answer) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, f.book.cfg.Wait)
	defer cancel()
	at := f.book.cfg.Now().Truncate(time.Millisecond)
	value := appendReceipt(make([]byte, 0, len(a.Body)+128), f.mine.origin, a.Positions, a.Body)
	offset, err := f.append(ctx, at, value)
	if err != nil {
		return Answer{}, err
	}
	if !f.mine.takeover && f.book.cfg.Now().Before(f.mine.at.Add(f.book.cfg.Lease/2)) {
		f.noteSettled(at, offset)
		return a, nil
	}
	if _, err := f.decided(ctx, offset); err != nil {
		return Answer{}, err
	}
	first, err := f.await(ctx)
	if first == nil {
		return a, err
	}
	return *first, err
}

// noteSettled folds the own receipt before the tail brings it: within its lease
// the first owner's receipt is the first one, and a repeat may come at once.
func (f *Flight) noteSettled(at time.Time, offset int64) {
	f.book.mu.Lock()
	defer f.book.mu.Unlock()
	p := place{partition: f.partition, offset: offset}
	f.book.index.apply(f.hash, at, p, record{receipt: true, origin: f.mine.origin})
}
