package schemas

import "time"

// Envelope is an event read back. Its slices alias the bytes it was opened
// from.
type Envelope struct {
	Type Type
	TS   time.Time // UTC, to the nanosecond
	Data []byte    // the data object as sent

	raw   []byte
	extra bool
}

// HasExtra reports whether the event has members beside type, ts and data.
func (e *Envelope) HasExtra() bool { return e.extra }
