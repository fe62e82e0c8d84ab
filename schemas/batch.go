package schemas

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
func (e *BatchError) Error() string { return e.Detail }
