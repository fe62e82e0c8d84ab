package schemas

import "fmt"

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

// What a Batch keeps for its next use at most: enough for every ordinary body,
// while one hostile body cannot pin its memory for ever.
const (
	keptEvents = 1 << 14
	keptNames  = 1 << 14
)

// Reset forgets the last body, so that a pooled Batch does not keep it alive,
// and gives back buffers that grew out of the ordinary. Call it before putting
// a Batch away; Parse itself does not need it.
func (b *Batch) Reset() {
	b.Events = emptied(b.Events, keptEvents)
	b.Rejected = emptied(b.Rejected, keptEvents)
	b.Count = 0
	b.Trim()
}

// Trim gives back the scratch memory of the last Parse where that grew out of the
// ordinary: a hostile body of many names takes eight times its size. Events and
// Rejected stay. Call it where a parsed Batch waits for something.
func (b *Batch) Trim() {
	s := &b.scan
	s.body = nil
	s.outer = kept(s.outer, keptNames)
	s.names = kept(s.names, keptNames)
	s.decoded = kept(s.decoded, 16*keptNames)
	s.table = kept(s.table, 4*keptNames)
}

// emptied returns list without elements, its memory cleared, or nil if it is
// larger than what is kept.
func emptied[T any](list []T, kept int) []T {
	if cap(list) > kept {
		return nil
	}
	clear(list)
	return list[:0]
}

// kept returns list without elements, or nil if it is larger than what is kept.
// Its elements hold no pointers, so they need no clearing.
func kept[T any](list []T, most int) []T {
	if cap(list) > most {
		return nil
	}
	return list[:0]
}
