package grouping

import (
	"strings"
	"sync"
)

// The canonical form is a list of records of fields. The two signs that end them can't
// stand in a field, so "ab"+"c" and "a"+"bc" never look the same.
const (
	fieldEnd  = 0x1f
	recordEnd = 0x1e
)

// canonicalForm is the version of how records and fields are written.
const canonicalForm = '1'

// decider holds the memory of one decision; deciders are reused between occurrences.
type decider struct {
	rules     rules
	trace     trace
	canonical []byte
	scratch   []byte
	inApp     []bool
	pieces    []piece
	records   [][2]int
	norm      normaliser
	// blamed is the index of the first frame that decided, -1 if none did.
	blamed int
	// note collects the explanation, nil when nobody asked.
	note *Explanation
}

// piece is the canonical form of one frame: scratch[from:to].
type piece struct {
	from, to int
	hash     uint64
	frame    int
	count    int
}

var deciders = sync.Pool{New: func() any { return new(decider) }}

// decide writes the canonical form of an occurrence. The client's fingerprint goes before
// what is computed, stacks before messages.
func (d *decider) decide(project string, p *Payload) {
	d.gather(p)
	d.write(project, p)
}

// write does it for what gather has read. The canonical form does not name the
// rules: a group that two versions see alike keeps its name.
func (d *decider) write(project string, p *Payload) {
	d.canonical = append(d.canonical[:0], "weir.errors"...)
	d.canonical = append(d.canonical, fieldEnd, canonicalForm, fieldEnd)
	d.field(project)
	d.canonical = append(d.canonical, recordEnd)
	d.blamed = -1
	if !isCustom(p.Fingerprint) {
		d.computed()
		return
	}
	d.explain(func(e *Explanation) { e.Client = p.Fingerprint })
	for _, part := range p.Fingerprint {
		d.record("client")
		if isDefault(part) {
			d.computed()
		} else {
			d.field(part)
		}
	}
	d.explain(func(e *Explanation) { e.Decided = "client_fingerprint" })
}

// isCustom says whether a client's fingerprint says more than the default.
func isCustom(parts []string) bool {
	return len(parts) > 1 || len(parts) == 1 && !isDefault(parts[0]) && parts[0] != ""
}

// isDefault says whether a part stands for the computed fingerprint.
func isDefault(part string) bool {
	inner, ok := strings.CutPrefix(strings.TrimSpace(part), "{{")
	return ok && strings.TrimSpace(strings.TrimSuffix(inner, "}}")) == "default"
}

// computed writes what the service computes: from the stacks if they tell anything, else from
// types and messages.
func (d *decider) computed() {
	d.markInApp()
	decided := "stack"
	switch named, any := d.stacks(); {
	case !any:
		decided = "type_and_message"
		d.typesAndMessages()
	case !named, d.saysLittle():
		decided = "stack_and_message"
		d.message(&d.trace.links[0])
	}
	d.explain(func(e *Explanation) { e.Decided = decided })
}

// saysLittle says whether a stack is Node's own, under the type of all its system errors: only the message tells
// a refused connection from a lost one.
func (d *decider) saysLittle() bool {
	return d.trace.lang == javaScript && d.trace.links[0].typ == "Error" && !d.anyInApp()
}

// record begins a record.
func (d *decider) record(kind string) {
	d.canonical = append(d.canonical, recordEnd)
	d.canonical = append(append(d.canonical, kind...), fieldEnd)
}

// field writes one field.
func (d *decider) field(s string) {
	from := len(d.canonical)
	d.canonical = append(d.canonical, clip(s, maxShownBytes)...)
	blank(d.canonical[from:])
}

// blank puts blanks where a text has control signs.
func blank(b []byte) {
	for i, c := range b {
		if c < 0x20 {
			b[i] = ' '
		}
	}
}
