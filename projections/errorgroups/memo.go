package errorgroups

import (
	"hash/maphash"
	"strings"

	"weir/projections/errorgroups/grouping"
)

// The same error comes again and again, to the byte: what is computed from its
// name, message and stack is kept. It is a function of those bytes alone, so a
// fold that remembers is still a function of its records.
const (
	memoBytes  = 4 << 20  // of keys and results, then it begins anew
	memoKey    = 16 << 10 // a longer key is not worth its room
	memoSeenAt = 1 << 13  // errors of which it is remembered that they came once
)

// grouped is what the grouping says of one error.
type grouped struct {
	fingerprint            [16]byte
	name, culprit, message string
	others                 [][16]byte // fingerprints under the other algorithms
}

// memo remembers results by key: the project and, as sent, all that the
// grouping reads.
type memo struct {
	key   []byte
	known map[string]*grouped
	bytes int
	seed  maphash.Seed
	seen  []uint64 // hashes of keys that came once, by their low bits
}

func newMemo() *memo {
	return &memo{known: map[string]*grouped{}, seed: maphash.MakeSeed(), seen: make([]uint64, memoSeenAt)}
}

// begin starts the key of another error.
func (m *memo) begin(project []byte) {
	m.key = append(append(m.key[:0], project...), 0)
}

// member adds a member of the error's data to the key.
func (m *memo) member(name, value []byte) {
	if grouping.Reads(string(name)) {
		m.key = append(append(append(m.key, name...), 0), value...)
		m.key = append(m.key, 0)
	}
}

// find is what is known of the error, or nil.
func (m *memo) find() *grouped { return m.known[string(m.key)] }

// keep remembers g from the second time on that its error comes, so that errors
// that are all different cost no more than a look.
func (m *memo) keep(g *grouped) {
	hash := maphash.Bytes(m.seed, m.key)
	if at := &m.seen[hash%memoSeenAt]; *at != hash {
		*at = hash
		return
	}
	size := 2*len(m.key) + len(g.name) + len(g.culprit) + len(g.message)
	if len(m.key) > memoKey {
		return
	}
	if m.bytes += size; m.bytes > memoBytes {
		clear(m.known)
		m.bytes = size
	}
	kept := *g
	kept.name, kept.culprit, kept.message = strings.Clone(g.name), strings.Clone(g.culprit), strings.Clone(g.message)
	m.known[string(m.key)] = &kept
}
