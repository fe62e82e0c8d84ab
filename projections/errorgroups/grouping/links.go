package grouping

import (
	"bytes"
	"slices"
	"strings"
)

// markInApp notes of each frame whether it is the sender's own code.
func (d *decider) markInApp() {
	d.inApp = d.inApp[:0]
	for i := range d.trace.frames {
		d.inApp = append(d.inApp, isInApp(d.trace.lang, &d.trace.frames[i]))
	}
}

// stacks writes each link that counts with its deciding frames. any says whether a frame was written,
// named whether one of them names a function.
func (d *decider) stacks() (named, any bool) {
	begin := len(d.canonical)
	own := d.anyInApp()
	d.records = d.records[:0]
	for i := range d.trace.links {
		l := &d.trace.links[i]
		if why := d.skipped(i); why != "" {
			d.noteLink(l, nil, why)
			continue
		}
		start := len(d.canonical)
		d.record("exception")
		d.typeName(l)
		d.choose(l, own)
		for _, p := range d.pieces {
			d.record("frame")
			d.canonical = append(d.canonical, d.scratch[p.from:p.to]...)
			any = true
			named = named || !namesNothing(d.trace.lang, &d.trace.frames[p.frame])
			if d.blamed < 0 || l.relation == "cause" && p.frame == d.pieces[0].frame {
				d.blamed = p.frame
			}
		}
		if d.repeats(start) {
			d.canonical = d.canonical[:start]
			d.noteLink(l, nil, "repeats a link before it")
			continue
		}
		d.noteLink(l, d.pieces, "")
	}
	if !any {
		d.canonical = d.canonical[:begin]
		d.explain(func(e *Explanation) { e.Exceptions = nil })
	}
	return named, any
}

// skipped says why a link has no part in the fingerprint: suppressed exceptions come and go, and a
// wrapper that only carries its cause would split the cause's group.
func (d *decider) skipped(i int) string {
	l := &d.trace.links[i]
	if l.relation == "suppressed" {
		return "suppressed"
	}
	if i+1 >= len(d.trace.links) || d.trace.links[i+1].relation == "suppressed" {
		return ""
	}
	if d.trace.lang == java && isJavaWrapper(l.typ) || d.trace.lang == dotNet && isDotNetWrapper(l.typ) || d.carries(l, &d.trace.links[i+1]) {
		return "only carries its cause"
	}
	return ""
}

// carries says whether a link was made by a library to pass its cause on: it names the cause in
// its message, and no frame of it is the sender's own.
func (d *decider) carries(l, cause *link) bool {
	if cause.typ == "" || l.from == l.to || cause.from == cause.to || !strings.Contains(clip(l.message, maxShownBytes), cause.typ) {
		return false
	}
	return !slices.Contains(d.inApp[l.from:l.to], true)
}

// anyInApp says whether one of the links that count has a frame of the sender's own.
func (d *decider) anyInApp() bool {
	for i := range d.trace.links {
		if d.skipped(i) != "" {
			continue
		}
		l := &d.trace.links[i]
		for j := l.from + d.firstFrame(l); j < l.to; j++ {
			if d.inApp[j] && !isNoise(d.trace.lang, &d.trace.frames[j]) {
				return true
			}
		}
	}
	return false
}

// repeats says whether the link written from start on is one that was written before, as retries make them;
// if not, it is remembered.
func (d *decider) repeats(start int) bool {
	for _, r := range d.records {
		if bytes.Equal(d.canonical[r[0]:r[1]], d.canonical[start:]) {
			return true
		}
	}
	d.records = append(d.records, [2]int{start, len(d.canonical)})
	return false
}
