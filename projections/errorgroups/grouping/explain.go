package grouping

import (
	"bytes"
	"fmt"
)

// maxExplained is how many frames of a link an explanation lists.
const maxExplained = 50

// explain lets fn write to the explanation, if there is one.
func (d *decider) explain(fn func(*Explanation)) {
	if d.note != nil {
		fn(d.note)
	}
}

// noteLink explains one link: why it was left out, or which of its frames decided.
func (d *decider) noteLink(l *link, used []piece, why string) {
	if d.note == nil {
		return
	}
	d.note.Language = ""
	if len(d.trace.frames) > 0 {
		d.note.Language = d.trace.lang.String()
	}
	e := ExplainedException{Type: clip(l.typ, maxTitleBytes), Relation: l.relation, Used: why == "", Why: why}
	first := l.from + d.firstFrame(l)
	for i := l.from; i < l.to; i++ {
		if len(e.Frames) >= maxExplained {
			e.MoreFrames = l.to - i
			break
		}
		e.Frames = append(e.Frames, d.noteFrame(i, i < first, used))
	}
	d.note.Exceptions = append(d.note.Exceptions, e)
}

// noteFrame explains one frame.
func (d *decider) noteFrame(i int, recovering bool, used []piece) ExplainedFrame {
	f := &d.trace.frames[i]
	e := ExplainedFrame{Function: clip(f.Function, maxTitleBytes), File: clip(f.File, maxTitleBytes), Line: f.Line, InApp: d.inApp[i]}
	as := appendFrame(nil, d.trace.lang, f)
	seal(as)
	for _, p := range used {
		if p.frame == i {
			e.Used, e.As = true, printable(as)
			return e
		}
	}
	e.Why = d.whyNot(f, i, recovering, used, as)
	return e
}

// whyNot says why a frame had no part.
func (d *decider) whyNot(f *Frame, i int, recovering bool, used []piece, as []byte) string {
	switch {
	case recovering:
		return "ran after the panic"
	case isNoise(d.trace.lang, f):
		return "made by the runtime or the compiler"
	}
	for _, p := range used {
		if bytes.Equal(d.scratch[p.from:p.to], as) {
			return "repeated"
		}
	}
	if !d.inApp[i] {
		return "library"
	}
	return "beyond the frames that decide"
}

// noteMessage explains what a message became.
func (d *decider) noteMessage(changes []Change, normal string) {
	d.explain(func(e *Explanation) {
		e.Message = append(e.Message, changes...)
		if e.Normalized != "" {
			e.Normalized += "\n"
		}
		e.Normalized += normal
	})
}

// printable shows separators: records on lines, fields with a bar between them.
func printable(canonical []byte) string {
	out := bytes.ReplaceAll(bytes.Trim(canonical, "\x1e\x1f"), []byte{recordEnd}, []byte("\n"))
	return string(bytes.ReplaceAll(out, []byte{fieldEnd}, []byte(" | ")))
}

// summary says the decision in one sentence.
func summary(e *Explanation) string {
	frames, own := 0, 0
	for _, x := range e.Exceptions {
		for _, f := range x.Frames {
			if f.Used {
				frames++
			}
			if f.Used && f.InApp {
				own++
			}
		}
	}
	switch {
	case e.Decided == "client_fingerprint":
		return fmt.Sprintf("The client's own fingerprint of %d parts decided.", len(e.Client))
	case frames == 0:
		return "There was no stack to go by: the exception types and the normalised message decided."
	case e.Decided == "stack_and_message":
		return fmt.Sprintf("%d frames decided, with the normalised message, since no frame names a function.", frames)
	case own > 0:
		return fmt.Sprintf("The exception types and %d frames of the sender's own code decided.", frames)
	}
	return fmt.Sprintf("The exception types and %d library frames decided, since no frame is the sender's own code.", frames)
}
