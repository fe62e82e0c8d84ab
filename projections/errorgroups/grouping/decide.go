package grouping

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/murmur3"
)

// The canonical form is a list of records of fields. The two signs that end them can't
// stand in a field, so "ab"+"c" and "a"+"bc" never look the same.
const (
	fieldEnd  = 0x1f
	recordEnd = 0x1e
)

// decider holds the memory of one decision; deciders are reused between occurrences.
type decider struct {
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
	d.canonical = append(d.canonical[:0], "weir.errors"...)
	d.canonical = append(d.canonical, fieldEnd, '0'+Algorithm, fieldEnd)
	d.field(project)
	d.canonical = append(d.canonical, recordEnd)
	d.blamed = -1
	d.gather(p)
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
	case !named:
		decided = "stack_and_message"
		d.message(&d.trace.links[0])
	}
	d.explain(func(e *Explanation) { e.Decided = decided })
}

// gather makes one chain of what the payload has: its stack, its frames, its explicit causes.
func (d *decider) gather(p *Payload) {
	t := &d.trace
	t.reset()
	switch {
	case p.Stack != "":
		t.parse(p.Stack)
	case len(p.Frames) > 0:
		t.lang = languageOf(p.Platform, p.Frames)
		t.open("", "", "")
		t.addGiven(p.Frames)
	case strings.IndexByte(p.Message, '\n') >= 0:
		t.parse(p.Message)
	}
	fromMessage := p.Stack == "" && len(t.frames) > 0 && len(p.Frames) == 0
	t.current()
	first := &t.links[0]
	first.typ = typeOf(p.Name, first.typ)
	if p.Message != "" && !(fromMessage && first.message != "") {
		first.message = p.Message
	}
	if first.typ == "" && len(p.Frames) == 0 && looksLikeHeader(clip(first.message, maxTitleBytes)) {
		first.typ, first.message = splitHeader(first.message)
	}
	if first.message == "" && len(t.frames) == 0 {
		first.message = p.Stack
	}
	if len(t.links) > 1 {
		return
	}
	for i := range p.Chain {
		d.gatherCause(&p.Chain[i], p.Platform)
	}
}

// gatherCause adds one explicit cause.
func (d *decider) gatherCause(e *Exception, platform string) {
	if !d.trace.open(e.Type, e.Message, e.Relation) {
		return
	}
	if d.trace.lang == unknownLanguage {
		d.trace.lang = languageOf(platform, e.Frames)
	}
	d.trace.addGiven(e.Frames)
}

// typeOf chooses the type to use: the sender's, or the stack's if that is the same with its package.
func typeOf(name, printed string) string {
	name = trimReporter(strings.TrimSpace(name))
	if name == "" || strings.HasSuffix(printed, "."+name) || strings.HasSuffix(printed, `\`+name) || strings.HasSuffix(printed, "::"+name) {
		return printed
	}
	return name
}

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
	limit, looked := maxUsedFrames, 0
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

// typesAndMessages writes each link's type and normalised message.
func (d *decider) typesAndMessages() {
	for i := range d.trace.links {
		l := &d.trace.links[i]
		if d.skipped(i) != "" {
			continue
		}
		d.record("exception")
		d.typeName(l)
		d.message(l)
		d.noteLink(l, nil, "")
	}
}

// message writes a link's normalised message.
func (d *decider) message(l *link) {
	d.record("message")
	from := len(d.canonical)
	message := trimTypeFrom(l.message, l.typ)
	if wording, ok := engineWording(l.typ, message); ok {
		d.canonical = append(d.canonical, wording...)
		d.noteMessage([]Change{{From: clip(message, 120), To: wording, Rule: "engine wording"}}, wording)
		return
	}
	var changes []Change
	if d.note != nil {
		d.norm.changes = &changes
	}
	d.canonical = d.norm.run(d.canonical, message)
	d.norm.in, d.norm.out, d.norm.changes = "", nil, nil
	d.noteMessage(changes, string(d.noted(from)))
}

// noted gives what was written since from, when an explanation is asked for.
func (d *decider) noted(from int) []byte {
	if d.note == nil {
		return nil
	}
	return d.canonical[from:]
}

// trimTypeFrom cuts the type off a message that repeats it: browsers' onerror gives "Uncaught TypeError: x".
func trimTypeFrom(message, typ string) string {
	rest := trimReporter(message)
	if typ != "" && strings.HasPrefix(rest, typ) && strings.HasPrefix(rest[len(typ):], ": ") {
		return rest[len(typ)+2:]
	}
	return rest
}

// typeName writes a link's type without what is generated: numbers of anonymous classes, generic arguments.
func (d *decider) typeName(l *link) {
	typ := l.typ
	if i := strings.Index(typ, "@anonymous"); i > 0 {
		typ = typ[:i]
	}
	if isOverflow(l) && typ == "InternalError" {
		typ = "RangeError"
	}
	d.canonical = append(d.canonical, fieldEnd)
	from := len(d.canonical)
	d.canonical = appendWithoutAddress(d.canonical, cutGeneric(clip(typ, maxTitleBytes)))
	blank(d.canonical[from:])
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
