package schemas

import "bytes"

// parse is Parse without its clearing up after a refusal.
func (b *Batch) parse(body []byte) error {
	if len(body) > maxBody {
		return &BatchError{CodeInvalidJSON, faultTooLarge, maxBody}
	}
	s := &b.scan
	s.begin(body)
	i := s.space(0)
	switch {
	case i == len(body):
		return &BatchError{CodeInvalidJSON, faultEmpty, i}
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return &BatchError{CodeInvalidJSON, faultBOM, 0}
	}
	start := i
	var found eventsMember
	if body[i] == '{' {
		i = b.top(i, &found)
	} else {
		found.problem = "the body must be an object with the member \"events\""
		i = s.value(i, 0)
	}
	if i != failed {
		if i = s.space(i); i < len(body) {
			i = s.fail(i, faultTrailing)
		}
	}
	if i == failed {
		return &BatchError{CodeInvalidJSON, s.fault, s.faultAt}
	}
	return found.verdict(start)
}

// eventsMember is what was found of the body's member "events".
type eventsMember struct {
	seen    bool
	again   int    // offset of a second one
	at      int    // offset of its value
	problem string // why it is of no use
}

// verdict turns a well-formed body without usable events into an error.
func (m *eventsMember) verdict(start int) error {
	switch {
	case m.again > 0:
		return &BatchError{CodeInvalidJSON, faultTwoEvents, m.again}
	case m.problem != "":
		return &BatchError{CodeEventsMissing, m.problem, max(start, m.at)}
	case !m.seen:
		return &BatchError{CodeEventsMissing, "the member \"events\" is missing", start}
	default:
		return nil
	}
}

// top scans the body's own object. Members other than "events" are verified and
// ignored.
func (b *Batch) top(i int, found *eventsMember) int {
	s := &b.scan
	if i = s.space(i + 1); s.at(i) == '}' {
		return i + 1
	}
	for {
		nameEnd, at, _ := s.member(i)
		if at == failed {
			return failed
		}
		end := b.topMember(i, nameEnd, at, found)
		if end == failed {
			return failed
		}
		i = s.space(end)
		switch s.at(i) {
		case ',':
			i = s.space(i + 1)
		case '}':
			return i + 1
		default:
			return s.fail(i, faultObject)
		}
	}
}

func (b *Batch) topMember(quote, nameEnd, at int, found *eventsMember) int {
	s := &b.scan
	if text, _ := StringBytes(s.body[quote:nameEnd]); string(text) != "events" {
		return s.value(at, 1)
	}
	if found.seen {
		found.again = quote
		return s.value(at, 1)
	}
	found.seen, found.at = true, at
	if s.at(at) != '[' {
		found.problem = "the member \"events\" must be an array"
		return s.value(at, 1)
	}
	return b.events(at)
}

// events scans the array of events that opens at i.
func (b *Batch) events(i int) int {
	const depth = 2 // inside the body's object and this array
	s := &b.scan
	if i = s.space(i + 1); s.at(i) == ']' {
		return i + 1
	}
	for {
		end := b.element(i, depth)
		if end == failed {
			return failed
		}
		b.Count++
		i = s.space(end)
		switch s.at(i) {
		case ',':
			i = s.space(i + 1)
		case ']':
			return i + 1
		default:
			return s.fail(i, faultArray)
		}
	}
}

// element scans one element of the events array and files it.
func (b *Batch) element(i, depth int) int {
	s := &b.scan
	if s.at(i) != '{' {
		end := s.value(i, depth)
		if end != failed {
			b.Rejected = append(b.Rejected, Rejection{Index: b.Count, Reason: reasonShape, Raw: s.body[i:end:end]})
		}
		return end
	}
	s.strict = true
	end := s.eventObject(i, depth)
	s.strict = false
	if end == failed {
		return failed
	}
	t, known, reason := s.judge(i)
	raw := s.body[i:end:end]
	if reason == "" {
		b.Events = append(b.Events, Event{Type: t, Index: b.Count, Raw: raw})
		return end
	}
	typeName := ""
	if known {
		typeName = t.String()
	}
	b.Rejected = append(b.Rejected, Rejection{Index: b.Count, Type: typeName, Reason: reason, Raw: raw})
	return end
}
