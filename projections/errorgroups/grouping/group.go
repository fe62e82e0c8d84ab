package grouping

import (
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/twmb/murmur3"
)

// Algorithm is the version of the rules that Group follows. A change that moves any
// fingerprint is a new version; the projection rebuilds under it.
const Algorithm = 1

// Result is the group that an occurrence belongs to.
type Result struct {
	// Fingerprint is murmur3-128 of the canonical form, project included.
	Fingerprint [16]byte
	// Algorithm is the version that computed it.
	Algorithm int
	// Name is the exception type to show ("Error" when nothing tells it), at most 512 bytes.
	Name string
	// Message is the message to show, as sent, at most 8 KiB.
	Message string
	// Culprit is the function and file that the group is blamed on, "" without a stack.
	Culprit string
}

// Hex returns the fingerprint as 32 lower-case hexadecimal digits.
func (r Result) Hex() string { return hex.EncodeToString(r.Fingerprint[:]) }

// Group computes the group of one occurrence in a project. It is the fold's hot path.
func Group(project string, p Payload) Result {
	d := deciders.Get().(*decider)
	defer deciders.Put(d)
	return d.result(project, &p)
}

// Explain computes the same as Group and says why. It allocates freely: call it when somebody
// asks, or once per group, not for each occurrence.
func Explain(project string, p Payload) Explanation {
	var note Explanation
	d := &decider{note: &note}
	r := d.result(project, &p)
	note.Algorithm, note.Fingerprint = r.Algorithm, r.Hex()
	note.Canonical = printable(d.canonical)
	note.Summary = summary(&note)
	return note
}

// result decides and hashes.
func (d *decider) result(project string, p *Payload) Result {
	d.decide(project, p)
	r := Result{Algorithm: Algorithm, Name: "Error"}
	hi, lo := murmur3.Sum128(d.canonical)
	binary.BigEndian.PutUint64(r.Fingerprint[:8], hi)
	binary.BigEndian.PutUint64(r.Fingerprint[8:], lo)
	if first := d.trace.links[0]; first.typ != "" {
		r.Name = clip(first.typ, maxTitleBytes)
	}
	r.Message = clip(d.trace.links[0].message, maxShownBytes)
	r.Culprit = d.culprit()
	return r
}

// culprit names the innermost frame that decided, as "function (file)".
func (d *decider) culprit() string {
	if d.blamed < 0 {
		return ""
	}
	f := &d.trace.frames[d.blamed]
	file := appendFile(d.scratch[:0], d.trace.lang, f.File)
	name := clip(f.Function, maxTitleBytes)
	switch {
	case name == "":
		return string(file)
	case len(file) == 0:
		return name
	}
	var b strings.Builder
	b.Grow(len(name) + len(file) + 3)
	b.WriteString(name)
	b.WriteString(" (")
	b.Write(file)
	b.WriteByte(')')
	return b.String()
}
