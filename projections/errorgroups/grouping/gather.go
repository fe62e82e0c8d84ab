package grouping

import "strings"

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
	if typ, rest, ok := strings.Cut(first.typ, ": "); ok && isTypeName(typ) {
		first.typ = typ
		if first.message == "" {
			first.message = rest
		}
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
