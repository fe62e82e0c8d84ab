package grouping

// Explanation says why an occurrence is in its group. It is made for people and marshals to JSON.
type Explanation struct {
	Algorithm   int    `json:"algorithm"`
	Fingerprint string `json:"fingerprint"`
	// Decided names the component that decided: "client_fingerprint", "stack", "type_and_message" …
	Decided string `json:"decided"`
	// Summary is the decision in one sentence.
	Summary string `json:"summary"`
	// Language is the runtime that the stack was read as, "" without one.
	Language string `json:"language,omitempty"`
	// Client is the client's own fingerprint, when that decided.
	Client []string `json:"client_fingerprint,omitempty"`
	// Exceptions is the chain that was looked at, outermost first.
	Exceptions []ExplainedException `json:"exceptions,omitempty"`
	// Normalized is what the message became; only set when the message took part.
	Normalized string `json:"normalized,omitempty"`
	// Message lists what was replaced in it.
	Message []Change `json:"message,omitempty"`
	// Canonical is the hashed form, its separators shown as line ends.
	Canonical string `json:"canonical"`
}

// ExplainedException is one link of the chain and what it gave to the fingerprint.
type ExplainedException struct {
	Type     string           `json:"type,omitempty"`
	Relation string           `json:"relation,omitempty"`
	Used     bool             `json:"used"`
	Why      string           `json:"why,omitempty"`
	Frames   []ExplainedFrame `json:"frames,omitempty"`
	// MoreFrames is the number of frames left out of Frames to keep it short.
	MoreFrames int `json:"more_frames,omitempty"`
}

// ExplainedFrame is one frame and what it gave to the fingerprint.
type ExplainedFrame struct {
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	InApp    bool   `json:"in_app"`
	Used     bool   `json:"used"`
	// As is the canonical form of the frame, or "" when it wasn't used.
	As string `json:"as,omitempty"`
	// Why says why the frame was left out: "library", "repeated", "runtime" …
	Why string `json:"why,omitempty"`
}

// Change is one replacement that normalising made.
type Change struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Rule names the rule that made it: "number", "uuid", "quoted" …
	Rule string `json:"rule"`
}
