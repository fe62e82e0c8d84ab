package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"weir/eventlog"
	"weir/schemas"
)

// append puts the accepted events into the log: one set per type, each whole or
// not at all, all types at once. It returns when every one of them is durable.
//
// When one type fails and another does not, the batch is a 503, and what was
// appended stays: with an idempotency key a repeat appends only the rest.
func (q *request) append() error {
	if len(q.types) == 0 {
		return nil
	}
	q.appendTypes(q.h.waits.context(q.h.cfg.AppendTimeout))
	q.noteSent()
	for _, t := range q.types {
		s := &q.sets[t]
		if s.err != nil {
			q.refund()
			return q.logFault(s.err)
		}
		q.position = append(q.position, s.at)
	}
	q.h.breaker.succeeded()
	return nil
}

// noteSent tells the flight whether any of the batch may still be on its way to the log.
func (q *request) noteSent() {
	if q.flight == nil {
		return
	}
	for _, t := range q.types {
		if err := q.sets[t].err; err != nil && !neverSent(err) {
			return
		}
	}
	q.flight.Sent()
}

func neverSent(err error) bool {
	for _, clean := range []error{
		eventlog.ErrTooLarge, eventlog.ErrOverloaded, eventlog.ErrRefused, eventlog.ErrUnknownTopic, eventlog.ErrClosed,
	} {
		if errors.Is(err, clean) {
			return true
		}
	}
	return false
}

func (q *request) appendTypes(ctx context.Context) {
	if len(q.types) == 1 {
		q.appendType(ctx, q.types[0])
		return
	}
	var all sync.WaitGroup
	for _, t := range q.types[1:] {
		all.Go(func() { q.appendType(ctx, t) })
	}
	q.appendType(ctx, q.types[0])
	all.Wait()
}

// appendType runs for several types of a request at once; each has its own set.
func (q *request) appendType(ctx context.Context, t schemas.Type) {
	s, topic, log := &q.sets[t], topics[t], q.h.cfg.Log
	if q.claim.Takeover {
		at, found, err := q.h.book.Find(ctx, topic, q.claim.Batch, q.claim.Since)
		if found || err != nil {
			s.at, s.err = at, err
			return
		}
	}
	partition := log.PartitionFor(topic, q.lane())
	first, err := log.Append(ctx, topic, partition, q.set(s))
	s.at = eventlog.Position{Topic: topic, Partition: partition, Next: first + int64(len(s.values))}
	s.err = err
}

func (q *request) set(s *typeSet) eventlog.Set {
	return eventlog.Set{
		Key: []byte(q.caller.ProjectID), Batch: q.claim.Batch, Time: q.received, Values: s.values, Indexes: s.indexes,
	}
}

const (
	// laneTime is how long small batches share a partition, and laneBytes how
	// large a batch is that goes its own way.
	laneTime  = 100 * time.Millisecond
	laneBytes = 64 << 10
)

// lane is what the partition is chosen by. A batch under an idempotency key goes
// where its id says, so that a take-over looks there first. Other small batches
// of one moment go to one partition, another one the next moment: only sets of
// the same partition can share a produce, and for a few events that is most of
// their cost. Large ones are spread, for one partition takes a produce at a time.
func (q *request) lane() [16]byte {
	if q.flight != nil || len(q.body) > laneBytes {
		return q.claim.Batch
	}
	lane := q.h.lanes
	binary.BigEndian.PutUint64(lane[8:], uint64(q.received.UnixNano()/int64(laneTime)))
	return lane
}

// newBatchID is a UUID of version 7: unique, and batches lie in the order of their time.
func newBatchID(now time.Time) (id [16]byte) {
	binary.BigEndian.PutUint64(id[:], rand.Uint64())
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(now.UnixMilli()))
	copy(id[:6], ms[2:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}
