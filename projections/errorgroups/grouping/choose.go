package grouping

import (
	"bytes"
	"slices"
	"strings"

	"github.com/twmb/murmur3"
)

// firstFrame gives how many frames of a link stand before the failing call.
func (d *decider) firstFrame(l *link) int {
	if d.trace.lang == golang {
		return goAfterPanic(d.trace.frames[l.from:l.to])
	}
	return 0
}

// choose fills pieces with the frames of a link that decide: its own code's if own, each one
// once however often it recurs.
func (d *decider) choose(l *link, own bool) {
	d.pieces, d.scratch = d.pieces[:0], d.scratch[:0]
	overflow := isOverflow(l)
	limit, looked := d.rules.frames, 0
	if overflow {
		limit = maxUsedFrames // where it ran out is chance: all of the circle decides
	}
	for i := l.from + d.firstFrame(l); i < l.to; i++ {
		f := &d.trace.frames[i]
		if isNoise(d.trace.lang, f) || d.isCallerOfCore(i, l.to) {
			continue
		}
		if d.trace.lang == javaScript {
			if looked++; looked > maxBrowserFrames || isJSAsync(f.Function) && isBrowserPlace(f.File) {
				break
			}
		}
		if own && !d.inApp[i] {
			continue
		}
		if full := len(d.pieces) >= limit; d.addPiece(i, full) && full && !overflow {
			break
		}
	}
	if overflow {
		d.keepRepeated()
	}
}

// isCallerOfCore says whether a frame is a method that Ruby has in C and prints at its caller's place.
func (d *decider) isCallerOfCore(i, end int) bool {
	if d.trace.lang != ruby || !isRubyCore(&d.trace.frames[i]) {
		return false
	}
	f := &d.trace.frames[i]
	if strings.HasPrefix(f.File, "<internal:") || strings.IndexByte(f.Function, '#') > 0 && isCoreClass(f.Function) {
		return true
	}
	return i+1 < end && d.trace.frames[i+1].File == f.File && d.trace.frames[i+1].Line == f.Line
}

// isCoreClass says whether a method of Ruby 3.4 belongs to a class of the language.
func isCoreClass(function string) bool {
	class, _, _ := strings.Cut(function, "#")
	switch class {
	case "Array", "Hash", "Integer", "Float", "Kernel", "Enumerable", "Enumerator", "Range", "String", "Struct", "Object", "BasicObject", "Thread::Mutex", "Monitor", "Set":
		return true
	}
	return false
}

// addPiece writes the canonical form of frame i, or counts it where it was written before.
// It reports whether the frame was new; a new one is not kept when full.
func (d *decider) addPiece(i int, full bool) bool {
	from := len(d.scratch)
	d.scratch = appendFrame(d.scratch, d.trace.lang, &d.trace.frames[i])
	seal(d.scratch[from:])
	if len(bytes.Trim(d.scratch[from:], "\x1f")) == 0 {
		d.scratch = d.scratch[:from]
		return false
	}
	hash := murmur3.Sum64(d.scratch[from:])
	for j := range d.pieces {
		if d.pieces[j].hash == hash {
			d.pieces[j].count++
			d.scratch = d.scratch[:from]
			return false
		}
	}
	if full {
		d.scratch = d.scratch[:from]
		return true
	}
	d.pieces = append(d.pieces, piece{from, len(d.scratch), hash, i, 1})
	return true
}

// seal blanks the signs that end fields and records out of a frame, but for the one field end that
// appendFrame puts between function and file.
func seal(b []byte) {
	ended := false
	for i, c := range b {
		if c >= 0x20 {
			continue
		}
		if c == fieldEnd && !ended {
			ended = true
			continue
		}
		b[i] = ' '
	}
}

// isOverflow says whether an exception means that the stack ran out.
func isOverflow(l *link) bool {
	switch lastName(l.typ) {
	case "StackOverflowError", "RecursionError", "StackOverflowException", "SystemStackError":
		return true
	case "RangeError", "InternalError":
		return strings.HasPrefix(l.message, "Maximum call stack") || strings.HasPrefix(l.message, "too much recursion")
	}
	return strings.Contains(clip(l.message, maxTitleBytes), "stack exceeds") || l.message == "stack overflow"
}

// keepRepeated leaves only the frames that recur, in the order of their names: where in its circle
// an endless recursion hits the limit is chance.
func (d *decider) keepRepeated() {
	if !slices.ContainsFunc(d.pieces, func(p piece) bool { return p.count > 1 }) {
		return
	}
	d.pieces = slices.DeleteFunc(d.pieces, func(p piece) bool { return p.count < 2 })
	slices.SortFunc(d.pieces, func(a, b piece) int {
		return bytes.Compare(d.scratch[a.from:a.to], d.scratch[b.from:b.to])
	})
}
