package receipts

import "time"

// index is the fold of the receipts topic. It is a pure function of the
// records in log order, so every gateway comes to the same owner and the same
// answer. Not for concurrent use.
type index struct {
	lease     time.Duration
	retention int64 // seconds
	settled   table
	claimed   map[[16]byte]claim // first claimed and not yet answered
}

// claim is the one live claim of a key.
type claim struct {
	origin   int64 // Unix milliseconds of the first claim of the chain
	at       time.Time
	gateway  string
	place    place
	takeover bool // it follows another claim, whose events may be in the log

	// Of the first claim of the chain: only its batch is ever appended.
	digest [16]byte
	first  place
}

func newIndex(lease, retention time.Duration) *index {
	return &index{lease: lease, retention: int64(retention / time.Second), claimed: map[[16]byte]claim{}}
}

// apply folds one record.
//
//   - A claim counts when the key has neither an answer that still holds nor a
//     live claim. A claim is live until its lease has ended by the clock of the
//     next claimer, or until its own gateway claims again: a gateway does that
//     only when what it did before has ended (or it has restarted).
//   - A claim anew that counts begins a new chain: its gateway owned the old one
//     and found that nothing of its batch had been appended.
//   - The first receipt of a chain settles the key. Later ones, of an owner that
//     was slower than its lease, change nothing.
func (x *index) apply(hash [16]byte, at time.Time, p place, r record) {
	p.second = at.Unix()
	if x.holds(hash, p.second) {
		return
	}
	old, open := x.claimed[hash]
	if open && p.second >= old.origin/1000+x.retention {
		open = false
	}
	switch {
	case r.receipt && (!open || old.origin == r.origin):
		x.settled.put(hash, p)
		delete(x.claimed, hash)
	case r.receipt:
	case open && x.live(old, at) && old.gateway != r.gateway:
	case open && !r.anew:
		old.at, old.gateway, old.place, old.takeover = at, r.gateway, p, true
		x.claimed[hash] = old
	default:
		x.claimed[hash] = claim{origin: r.origin, at: at, gateway: r.gateway, place: p, digest: r.digest, first: p}
	}
}

func (x *index) live(c claim, at time.Time) bool { return at.Before(c.at.Add(x.lease)) }

// holds says whether the key has an answer that has not expired at second.
func (x *index) holds(hash [16]byte, second int64) bool {
	p, ok := x.settled.get(hash)
	return ok && second < p.second+x.retention
}

// answerOf is where the key's answer stands, if it has one that holds at now.
func (x *index) answerOf(hash [16]byte, now time.Time) (place, bool) {
	p, ok := x.settled.get(hash)
	return p, ok && now.Unix() < p.second+x.retention
}

// sweepSlack is how much longer than needed entries are kept, so that no
// gateway's clock decides whether a late record meets an entry.
const sweepSlack = time.Hour

// sweep forgets what expired at least sweepSlack ago.
func (x *index) sweep(now time.Time) {
	before := now.Add(-sweepSlack).Unix() - x.retention
	x.settled.expire(before)
	for hash, c := range x.claimed {
		if c.origin/1000 < before {
			delete(x.claimed, hash)
		}
	}
}
