package schemas

import (
	"errors"
	"fmt"
	"time"
)

// Envelope is an event read back. Its slices alias the bytes it was opened
// from.
type Envelope struct {
	Type Type
	TS   time.Time // UTC, to the nanosecond
	Data []byte    // the data object as sent

	raw   []byte
	extra bool
}

// Errors of Open, beside ErrMalformed and those of ParseTime. Each is what a
// quarantine shows as its reason.
var (
	ErrNoType = errors.New("event has no type")
	ErrNoData = errors.New("event has no data object")
)

// Open reads an event back in one pass, without allocation. The log may hold
// anything, so the JSON is verified to its end, and type, ts and data must be
// there; the fields of data are the fold's to read. It trusts the door in two
// things: it does not look for duplicate names (the last of a name counts) nor
// for unpaired surrogates. An error is final: the same bytes fail again.
func Open(raw []byte) (Envelope, error) {
	e := Envelope{raw: raw}
	var kind, ts []byte
	err := Members(raw, func(name, value []byte) bool {
		switch partOf(name) {
		case partType:
			kind = value
		case partTS:
			ts = value
		case partData:
			e.Data = value
		case partExtra:
			e.extra = true
		}
		return true
	})
	if err != nil {
		return Envelope{}, fmt.Errorf("open event: %w", err)
	}
	if err := e.fill(kind, ts); err != nil {
		return Envelope{}, fmt.Errorf("open event: %w", err)
	}
	return e, nil
}

// fill decodes type and ts and checks data's shape.
func (e *Envelope) fill(kind, ts []byte) error {
	name, ok := StringBytes(kind)
	if !ok {
		return ErrNoType
	}
	if e.Type, ok = typeOf(name); !ok {
		return fmt.Errorf("%w: unknown type %q", ErrNoType, clip(name, 64))
	}
	text, ok := StringBytes(ts)
	if !ok {
		return ErrTimeMalformed
	}
	var err error
	if e.TS, err = ParseTime(text); err != nil {
		return err
	}
	if len(e.Data) == 0 || e.Data[0] != '{' {
		return ErrNoData
	}
	return nil
}

// HasExtra reports whether the event has members beside type, ts and data.
func (e *Envelope) HasExtra() bool { return e.extra }

// AppendExtra appends the members beside type, ts and data as one JSON object,
// their values as sent; "{}" when there are none. It allocates only if dst must
// grow or a name is escaped.
func (e *Envelope) AppendExtra(dst []byte) []byte {
	dst = append(dst, '{')
	if !e.extra {
		return append(dst, '}')
	}
	first := true
	s := scanner{body: e.raw}
	for i := s.space(s.space(0) + 1); ; {
		nameEnd, at, _ := s.member(i)
		if at == failed {
			break
		}
		end := s.value(at, 1)
		if end == failed {
			break
		}
		name, _ := StringBytes(e.raw[i:nameEnd])
		if partOf(name) == partExtra {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(dst, e.raw[i:nameEnd]...)
			dst = append(dst, ':')
			dst = append(dst, e.raw[at:end]...)
		}
		if i = s.space(end); s.at(i) != ',' {
			break
		}
		i = s.space(i + 1)
	}
	return append(dst, '}')
}
