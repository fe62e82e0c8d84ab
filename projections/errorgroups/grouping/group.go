package grouping

import (
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/twmb/murmur3"
)

// Algorithm is the version of the rules that Group follows, and the one that is
// served where nothing else is chosen. A change that moves any fingerprint is a
// new version; the projection rebuilds under it.
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
func Group(project string, p Payload) Result { return everyFrame.group(project, p) }

func (r rules) group(project string, p Payload) Result {
	d := deciders.Get().(*decider)
	defer deciders.Put(d)
	d.rules = r
	return d.result(project, &p)
}

// GroupAndNames computes the group under one version, and appends the
// fingerprints that the others give to names. The payload is read once for all,
// which is most of the work.
func GroupAndNames(project string, p Payload, chosen Version, others []Version, names [][16]byte) (Result, [][16]byte) {
	if chosen.rules.frames == 0 {
		for _, other := range others {
			names = append(names, other.Group(project, p).Fingerprint)
		}
		return chosen.Group(project, p), names
	}
	d := deciders.Get().(*decider)
	defer deciders.Put(d)
	d.rules = chosen.rules
	r := d.result(project, &p)
	for _, other := range others {
		if other.rules.frames == 0 {
			names = append(names, other.Group(project, p).Fingerprint)
			continue
		}
		d.rules = other.rules
		d.write(project, &p)
		names = append(names, d.fingerprint())
	}
	return r, names
}

// Explain computes the same as Group and says why. It allocates freely: call it when somebody
// asks, or once per group, not for each occurrence.
func Explain(project string, p Payload) Explanation { return everyFrame.explain(project, p) }

func (r rules) explain(project string, p Payload) Explanation {
	note := new(Explanation)
	d := &decider{note: note, rules: r}
	result := d.result(project, &p)
	note.Algorithm, note.Fingerprint = result.Algorithm, result.Hex()
	note.Canonical = printable(d.canonical)
	note.Summary = summary(note)
	return *note
}

// result decides and hashes.
func (d *decider) result(project string, p *Payload) Result {
	d.decide(project, p)
	r := Result{Fingerprint: d.fingerprint(), Algorithm: d.rules.number, Name: "Error"}
	if first := d.trace.links[0]; first.typ != "" {
		r.Name = clip(first.typ, maxTitleBytes)
	}
	r.Message = clip(d.trace.links[0].message, maxShownBytes)
	r.Culprit = d.culprit()
	return r
}

// fingerprint is the hash of the canonical form.
func (d *decider) fingerprint() (sum [16]byte) {
	hi, lo := murmur3.Sum128(d.canonical)
	binary.BigEndian.PutUint64(sum[:8], hi)
	binary.BigEndian.PutUint64(sum[8:], lo)
	return sum
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
