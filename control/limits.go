package control

import (
	"encoding/json"
	"strconv"
)

// Limit is a project's own value for one limit, or none: then the server's
// default holds. The zero value is none. A rate of 0 turns that limit off.
type Limit struct {
	N   int64
	Set bool
}

// Is makes a limit with a value.
func Is(n int64) Limit { return Limit{N: n, Set: true} }

// Or returns the value, def when there is none.
func (l Limit) Or(def int64) int64 {
	if l.Set {
		return l.N
	}
	return def
}

// MarshalJSON writes the number, null for none.
func (l Limit) MarshalJSON() ([]byte, error) {
	if !l.Set {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, l.N, 10), nil
}

// UnmarshalJSON reads a whole number or null.
func (l *Limit) UnmarshalJSON(b []byte) error {
	var n *int64
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	*l = Limit{}
	if n != nil {
		*l = Is(*n)
	}
	return nil
}

// Limits are a project's own ingest limits.
type Limits struct {
	EventsPerSecond  Limit `json:"events_per_second"`  // 0: no limit
	BatchesPerSecond Limit `json:"batches_per_second"` // 0: no limit
	BatchBytes       Limit `json:"batch_bytes"`        // as sent, and as unpacked
}

// The names of the limits in events and requests.
const (
	limitEvents  = "events_per_second"
	limitBatches = "batches_per_second"
	limitBytes   = "batch_bytes"
)

// limitRange is what a limit may be set to. A batch must fit the broker and
// the gateway's memory, hence its bound; the rates only must not overflow.
var limitRange = map[string]struct{ min, max int64 }{
	limitEvents:  {0, 1_000_000_000},
	limitBatches: {0, 1_000_000_000},
	limitBytes:   {1 << 10, 64 << 20},
}

// with returns l with one limit replaced; false for a name it does not know.
func (l Limits) with(name string, to Limit) (Limits, bool) {
	switch name {
	case limitEvents:
		l.EventsPerSecond = to
	case limitBatches:
		l.BatchesPerSecond = to
	case limitBytes:
		l.BatchBytes = to
	default:
		return l, false
	}
	return l, true
}

func (l Limits) get(name string) Limit {
	switch name {
	case limitEvents:
		return l.EventsPerSecond
	case limitBatches:
		return l.BatchesPerSecond
	}
	return l.BatchBytes
}
