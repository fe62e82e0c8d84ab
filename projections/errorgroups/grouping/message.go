package grouping

import "strings"

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
	if strings.IndexByte(typ, ' ') >= 0 {
		d.canonical = d.norm.run(d.canonical, clip(typ, maxTitleBytes))
	} else {
		d.canonical = appendWithoutAddress(d.canonical, cutGeneric(clip(typ, maxTitleBytes)))
	}
	blank(d.canonical[from:])
	if kind := panicKind(d.trace.lang, l.message); kind != "" {
		d.canonical = append(append(d.canonical, fieldEnd), kind...)
	}
}
