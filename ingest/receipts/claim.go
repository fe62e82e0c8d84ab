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

// Intent is what a claim is made for. It stands in the claim, so that whoever
// takes the claim over with another body knows what was begun.
type Intent struct {
	Digest [16]byte // of the body, unpacked: see DigestOf
	Topics []string // that the batch's events go to
	Answer []byte   // the response to be; empty when it is not known before the claim
}

// keptAnswer is the longest response that is kept in a claim.
const keptAnswer = 64 << 10

// DigestOf tells bodies apart. It is no proof against a project that wants two
// of its own to look alike.
func DigestOf(body []byte) [16]byte { return sum(body) }

// Claim appends a claim and waits until the own tail has read it. It returns
// the claim when this flight is the owner. When another gateway was first, it
// waits for its receipt and returns that answer instead. So it does when the
// key was claimed before for another body, and all of that one was appended by a
// gateway which died before its receipt; ErrOtherBody says that part of it was.
//
// An error means that nothing of the batch was appended here.
func (f *Flight) Claim(ctx context.Context, in Intent) (Claim, *Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, f.book.cfg.Wait)
	defer cancel()
	word := claimWord
	for {
		offset, at, err := f.appendClaim(ctx, word, &in)
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
		if owner && f.mine.digest == in.Digest {
			return f.claim(), nil, nil
		}
		if owner {
			a, err := f.endOther(ctx)
			if a != nil || err != nil {
				return Claim{}, a, err
			}
			word = anewWord
			continue
		}
		word = claimWord
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

func (f *Flight) appendClaim(ctx context.Context, word string, in *Intent) (offset int64, at time.Time, err error) {
	at = f.book.cfg.Now().Truncate(time.Millisecond)
	value := appendClaim(make([]byte, 0, 256), word, at.UnixMilli(), f.book.cfg.Gateway, in)
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
