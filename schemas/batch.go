package schemas

import (
	"bytes"
	"fmt"
)

// Batch is one parsed request body. The zero value is ready; reuse it (from a
// pool) so that parsing allocates nothing. Not for concurrent use.
//
// Events, Rejected and every slice in them are valid until the next Parse, and
// the Raw slices alias the body: keep the body unchanged as long.
type Batch struct {
	// Events are the accepted events in the order of the body.
	Events []Event
	// Rejected are the refused events in the order of the body.
	Rejected []Rejection
	// Count is the number of all events seen: len(Events) + len(Rejected).
	Count int

	scan scanner
}

// Event is an accepted event.
type Event struct {
	Type  Type
	Index int    // position in the events array, from zero
	Raw   []byte // the event's bytes as sent, a slice of the body
}

// Rejection is a refused event.
type Rejection struct {
	Index  int    // position in the events array, from zero
	Type   string // wire name of its type; "" if missing or unknown
	Reason string // "<field path>: <problem>"
	Raw    []byte // the event's bytes as sent, a slice of the body
}

// The codes of a BatchError, also the codes of the problem+json answers.
const (
	// CodeInvalidJSON: the body is not strict JSON, nests too deeply, or names
	// its events twice, so that it has no one meaning.
	CodeInvalidJSON = "invalid_json"
	// CodeEventsMissing: the body is JSON, but not an object whose member
	// "events" is an array.
	CodeEventsMissing = "events_missing"
)

// MaxDepth is the deepest nesting of arrays and objects that is accepted, the
// body's own object and the events array included.
const MaxDepth = 64

// BatchError is why a whole body is refused. The client must send another
// body; retrying the same one cannot succeed.
type BatchError struct {
	Code   string // CodeInvalidJSON or CodeEventsMissing
	Detail string // what is wrong, for the client; holds none of the body's text
	Offset int    // position of the fault in bytes from the body's start
}

// Error says what is wrong and where.
func (e *BatchError) Error() string {
	return fmt.Sprintf("batch refused (%s): %s, at byte %d", e.Code, e.Detail, e.Offset)
}

// Parse verifies body and cuts it into events, the accepted and the refused, in
// one pass. A *BatchError refuses the body as a whole; the batch then holds no
// events. In the steady state of a reused Batch an accepted event costs no
// allocation, a refused one at most those of its reason.
func (b *Batch) Parse(body []byte) error {
	b.Events, b.Rejected, b.Count = b.Events[:0], b.Rejected[:0], 0
	if err := b.parse(body); err != nil {
		b.Events, b.Rejected, b.Count = b.Events[:0], b.Rejected[:0], 0
		return err
	}
	return nil
}

func (b *Batch) parse(body []byte) error {
	if len(body) > maxBody {
		return &BatchError{CodeInvalidJSON, faultTooLarge, maxBody}
	}
	s := &b.scan
	s.begin(body)
	i := s.space(0)
	switch {
	case i == len(body):
		return &BatchError{CodeInvalidJSON, faultEmpty, i}
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return &BatchError{CodeInvalidJSON, faultBOM, 0}
	}
	start := i
	var found eventsMember
	if body[i] == '{' {
		i = b.top(i, &found)
	} else {
		found.problem = "the body must be an object with the member \"events\""
		i = s.value(i, 0)
	}
	if i != failed {
		if i = s.space(i); i < len(body) {
			i = s.fail(i, faultTrailing)
		}
	}
	if i == failed {
		return &BatchError{CodeInvalidJSON, s.fault, s.faultAt}
	}
	return found.verdict(start)
}

// eventsMember is what was found of the body's member "events".
type eventsMember struct {
	seen    bool
	again   int    // offset of a second one
	at      int    // offset of its value
	problem string // why it is of no use
}

// verdict turns a well-formed body without usable events into an error.
func (m *eventsMember) verdict(start int) error {
	switch {
	case m.again > 0:
		return &BatchError{CodeInvalidJSON, faultTwoEvents, m.again}
	case m.problem != "":
		return &BatchError{CodeEventsMissing, m.problem, max(start, m.at)}
	case !m.seen:
		return &BatchError{CodeEventsMissing, "the member \"events\" is missing", start}
	default:
		return nil
	}
}

// top scans the body's own object. Members other than "events" are verified and
// ignored.
func (b *Batch) top(i int, found *eventsMember) int {
	s := &b.scan
	if i = s.space(i + 1); s.at(i) == '}' {
		return i + 1
	}
	for {
		n, at := s.member(i)
		if at == failed {
			return failed
		}
		end := b.topMember(n, at, found)
		if end == failed {
			return failed
		}
		i = s.space(end)
		switch s.at(i) {
		case ',':
			i = s.space(i + 1)
		case '}':
			return i + 1
		default:
			return s.fail(i, faultObject)
		}
	}
}

func (b *Batch) topMember(n name, at int, found *eventsMember) int {
	s := &b.scan
	if text, _ := StringBytes(s.body[n.quote : n.end+1]); string(text) != "events" {
		return s.value(at, 1)
	}
	if found.seen {
		found.again = int(n.quote)
		return s.value(at, 1)
	}
	found.seen, found.at = true, at
	if s.at(at) != '[' {
		found.problem = "the member \"events\" must be an array"
		return s.value(at, 1)
	}
	return b.events(at)
}

// events scans the array of events that opens at i.
func (b *Batch) events(i int) int {
	const depth = 2 // inside the body's object and this array
	s := &b.scan
	if i = s.space(i + 1); s.at(i) == ']' {
		return i + 1
	}
	for {
		end := b.element(i, depth)
		if end == failed {
			return failed
		}
		b.Count++
		i = s.space(end)
		switch s.at(i) {
		case ',':
			i = s.space(i + 1)
		case ']':
			return i + 1
		default:
			return s.fail(i, faultArray)
		}
	}
}

// element scans one element of the events array and files it.
func (b *Batch) element(i, depth int) int {
	s := &b.scan
	if s.at(i) != '{' {
		end := s.value(i, depth)
		if end != failed {
			b.Rejected = append(b.Rejected, Rejection{Index: b.Count, Reason: reasonShape, Raw: s.body[i:end:end]})
		}
		return end
	}
	s.strict = true
	end := s.eventObject(i, depth)
	s.strict = false
	if end == failed {
		return failed
	}
	t, known, reason := s.judge(i)
	raw := s.body[i:end:end]
	if reason == "" {
		b.Events = append(b.Events, Event{Type: t, Index: b.Count, Raw: raw})
		return end
	}
	typeName := ""
	if known {
		typeName = t.String()
	}
	b.Rejected = append(b.Rejected, Rejection{Index: b.Count, Type: typeName, Reason: reason, Raw: raw})
	return end
}
