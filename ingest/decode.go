package ingest

import (
	"errors"

	"weir/internal/httpapi"
	"weir/schemas"
)

// decode scans the body once: the events that are valid, by type, and why the
// others are not.
func (q *request) decode() error {
	if err := q.batch.Parse(q.body); err != nil {
		return batchFault(err)
	}
	if err := q.reserve(eventBytes * int64(max(0, q.batch.Count-keepEvents))); err != nil {
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
	return nil
}

// eventBytes is what the gateway holds for an event beside its bytes: slices,
// or a reason and its place in the answer.
const eventBytes = 160

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
