package grouping

// Payload is one error occurrence as its sender gave it: the data of an error event, or the
// body of a capture request. Its strings may share memory with one another.
type Payload struct {
	// Name is the exception's type (TypeError, java.io.IOException), "" when unknown.
	Name string
	// Message is the exception's message as sent, not normalised.
	Message string
	// Stack is the stack trace as text, as the runtime printed it; "" when the sender gave
	// frames or nothing. A stack of an unexpected JSON type is kept here as its JSON text.
	Stack string
	// Frames is the stack as the sender's array of frames, in the sender's order. nil when Stack
	// is text.
	Frames []Frame
	// Chain is what the sender gave as explicit causes (cause, exceptions, inner …), from
	// the outermost to the root cause, without the exception that Name and Message describe.
	Chain []Exception

	Release     string
	Environment string
	Service     string
	// Platform is the runtime's name if the sender named it (python, node, java …), lower case.
	Platform string
	// Fingerprint is the client's own fingerprint; a part "{{ default }}" stands for the one
	// computed here. Empty when the sender gave none.
	Fingerprint []string
	// Request is the request context as JSON, nil when absent.
	Request []byte
	// Metadata holds every field not named above, in the order sent: the fields that
	// are kept but don't take part in grouping.
	Metadata []Field
}

// Field is one JSON member that grouping doesn't know: kept, never looked into.
type Field struct {
	Name string
	// Value is the member's value as JSON text, as sent.
	Value string
}

// Exception is one link of an exception chain.
type Exception struct {
	Type    string
	Message string
	Frames  []Frame
	// Relation says how this link hangs on the one before it: "" for the outermost,
	// "cause", "context" (raised while handling the other) or "suppressed".
	Relation string
}

// Frame is one call of a stack.
type Frame struct {
	// Function is the called function, with its class or package if the runtime prints it there.
	Function string
	// Module is the module, package or class, if told apart from the function.
	Module string
	// File is the path or URL as printed.
	File string
	Line int
	Col  int
	// InApp says whether the frame is the sender's own code.
	InApp InApp
}

// InApp says whether a frame is the sender's own code.
type InApp uint8

// What a sender may say about a frame; a frame of which nothing is said is judged by its path.
const (
	InAppUnknown InApp = iota
	InAppYes
	InAppNo
)
