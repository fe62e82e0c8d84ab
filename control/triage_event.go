package control

// The facts of triage: what people decided about error groups. This package
// only decides and appends them; the projection triage folds them, with the
// record's offset as their order, and the read model makes statuses of them.
// So the Directory keeps nothing of them, however many groups are triaged.
//
// Fingerprints are 32 lower-case hex digits. A fingerprint stays what it was
// when the decision was made: read models know what it is called by now.

// groupResolved: fixed, by now or in a release.
type groupResolved struct {
	Fingerprint string `json:"fingerprint"`
	Release     string `json:"release,omitempty"` // "": by now
	Reason      string `json:"reason,omitempty"`
}

// groupIgnored: not worth looking at, for ever or until a time or a count.
type groupIgnored struct {
	Fingerprint string `json:"fingerprint"`
	Until       string `json:"until,omitempty"` // RFC 3339; "": no end
	// Count is the number of occurrences in all at which the group comes back: those
	// it had when it was ignored and as many more as were asked for. 0: no end. A sum
	// does not depend on the order of events, and "how many since" would.
	Count  int64  `json:"count,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// groupReopened takes a resolution or an ignore back.
type groupReopened struct {
	Fingerprint string `json:"fingerprint"`
	Reason      string `json:"reason,omitempty"`
}

// groupMerged shows a group as part of another from now on. A merge that would
// make a circle is recorded and has no effect.
type groupMerged struct {
	Fingerprint string `json:"fingerprint"`
	Into        string `json:"into"`
	Reason      string `json:"reason,omitempty"`
}

// groupUnmerged takes a merge back.
type groupUnmerged struct {
	Fingerprint string `json:"fingerprint"`
	Reason      string `json:"reason,omitempty"`
}

func (groupResolved) kind() string { return "group.resolved" }
func (groupIgnored) kind() string  { return "group.ignored" }
func (groupReopened) kind() string { return "group.reopened" }
func (groupMerged) kind() string   { return "group.merged" }
func (groupUnmerged) kind() string { return "group.unmerged" }

func (groupResolved) apply(s *state, e event) error { return s.noted(e) }
func (groupIgnored) apply(s *state, e event) error  { return s.noted(e) }
func (groupReopened) apply(s *state, e event) error { return s.noted(e) }
func (groupMerged) apply(s *state, e event) error   { return s.noted(e) }
func (groupUnmerged) apply(s *state, e event) error { return s.noted(e) }

// noted is the fold of a fact that changes nothing in the Directory.
func (s *state) noted(e event) error { return s.change(e, func(*project) {}) }
