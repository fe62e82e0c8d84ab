package ingest

import (
	"bytes"
	"errors"

	"weir/internal/httpapi"
	"weir/schemas"
)

// decode scans the body once: the events that are valid, by type, and why the
// others are not.
func (q *request) decode() error {
	if err := q.parse(); err != nil {
		return err
	}
	for i := range q.batch.Events {
		e := &q.batch.Events[i]
		s := &q.sets[e.Type]
		if len(s.values) == 0 {
			q.types = append(q.types, e.Type)
		}
		s.values = append(s.values, e.Raw)
		s.indexes = append(s.indexes, e.Index)
	}
	q.response = appendAnswer(q.response[:0], &q.batch)
	return q.fits()
}

// surelyFits is the largest body whose sets are not measured: the smallest legal
// events take twice their bytes in the log, whose smallest limit is 16 MiB.
const surelyFits = DefaultMaxBatchBytes

// fits refuses a batch one of whose sets the log won't take before another one is
// appended. Only a project whose limit was raised can send one.
func (q *request) fits() error {
	if len(q.body) <= surelyFits {
		return nil
	}
	for _, t := range q.types {
		s := &q.sets[t]
		if err := q.h.cfg.Log.Fits(topics[t], q.set(s)); err != nil {
			return eventsTooLarge(err)
		}
	}
	return nil
}

const (
	// eventBytes is what the gateway holds for an event beside its bytes:
	// slices, or a reason and its place in the answer.
	eventBytes = 160

	// wideBody is from where on a body could have events enough to matter.
	wideBody = 256 << 10
)

// guess is the memory that a large body's events could take. A legal event has
// far more than 16 bytes to a comma; a body with less holds mostly malformed
// ones, or long arrays, which can't be told apart before the scan.
func (q *request) guess() int64 {
	if len(q.body) <= wideBody {
		return 0
	}
	commas := bytes.Count(q.body, []byte{','})
	if commas < len(q.body)/16 {
		return 0
	}
	return min(eventBytes*int64(commas), q.h.budget.limit/4)
}

// parse scans the body and has the memory that its events take covered by the
// budget. Five megabytes can hold millions of events, all malformed; the memory
// for them is reserved before the scan as far as their number can be guessed,
// so that few such bodies are scanned at once.
func (q *request) parse() error {
	guess := q.guess()
	if err := q.reserve(guess); err != nil {
		return err
	}
	if err := q.batch.Parse(q.body); err != nil {
		return batchFault(err)
	}
	q.batch.Trim() // before the wait for the log, and before the memory for it is given back
	q.unreserve(guess)
	need := eventBytes * int64(max(0, q.batch.Count-keepEvents))
	if need > q.h.budget.limit/2 {
		return httpapi.Errorf(httpapi.CodeBatchTooLarge, "the batch has %d events, most of them malformed: split it, or correct them", q.batch.Count)
	}
	return q.reserve(need)
}

func batchFault(err error) error {
	var fault *schemas.BatchError
	if !errors.As(err, &fault) {
		return err
	}
	code := httpapi.CodeInvalidJSON
	if fault.Code == schemas.CodeEventsMissing {
		code = httpapi.CodeEventsMissing
	}
	return httpapi.Errorf(code, "%s (at byte %d of the body)", fault.Detail, fault.Offset)
}
