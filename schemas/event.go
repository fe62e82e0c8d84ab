package schemas

// part is a member of an event, in the order in which faults are reported.
type part uint8

const (
	partType part = iota
	partTS
	partData
	partExtra // any other member
	partCount
)

// flaw is what makes well-formed JSON unacceptable as an event.
type flaw struct {
	at      uint32 // offset in the body
	problem string // "" for none
}

const (
	flawDuplicate = "duplicate name"
	flawSurrogate = "unpaired surrogate escape"
)

// span is the place of a value in the body; the zero span is no value.
type span struct{ start, end uint32 }

// eventParts is where the members of the event being scanned are.
type eventParts struct {
	parts [partCount]span
	// data is how many of s.names are the members of data.
	data int
}

// flaw files a flaw under a part of the event; the first in the order of the
// body counts.
func (s *scanner) flaw(p part, at int, problem string) {
	if !s.strict {
		return
	}
	if !s.flawed {
		s.flawed = true
		s.flaws = [partCount]flaw{}
	}
	if f := &s.flaws[p]; f.problem == "" || uint32(at) < f.at {
		*f = flaw{uint32(at), problem}
	}
}

// duplicate files a name that its object has already.
func (s *scanner) duplicate(n *name) { s.flaw(s.part, int(n.quote), flawDuplicate) }

// eventObject scans the event that opens at i and notes where its parts are.
func (s *scanner) eventObject(i, depth int) int {
	s.flawed = false
	s.event = eventParts{}
	s.outer, s.names, s.decoded = s.outer[:0], s.names[:0], s.decoded[:0]
	i = s.space(i + 1)
	if s.at(i) == '}' {
		return i + 1
	}
	var set nameSet
	for {
		s.part = partExtra
		nameEnd, at, escaped := s.member(i)
		if at == failed {
			return failed
		}
		s.outer = oneMore(s.outer)
		n := &s.outer[len(s.outer)-1]
		s.setName(n, i, nameEnd, escaped)
		s.part = partOf(s.nameBytes(n))
		set.check(s, s.outer)
		end := s.eventMember(at, depth+1)
		if end == failed {
			return failed
		}
		i = s.space(end)
		switch s.at(i) {
		case ',':
			i = s.space(i + 1)
		case '}':
			s.closeEvent(&set)
			return i + 1
		default:
			return s.fail(i, faultObject)
		}
	}
}

// eventMember scans the value of the member s.part. The members of data stay
// on s.names until the event is judged.
func (s *scanner) eventMember(at, depth int) (end int) {
	if s.part == partData && s.at(at) == '{' {
		s.names = s.names[:0]
		end = s.object(at, depth)
		s.event.data = len(s.names)
	} else {
		end = s.value(at, depth)
	}
	if end != failed {
		s.event.parts[s.part] = span{uint32(at), uint32(end)}
	}
	return end
}

// closeEvent looks for duplicates among the members of a large event. Flaws of
// type, ts and data were found while it was small or are filed here by name.
func (s *scanner) closeEvent(set *nameSet) {
	if len(s.outer) <= smallObject {
		return
	}
	var seen [partExtra]bool
	for i := range s.outer {
		p := partOf(s.nameBytes(&s.outer[i]))
		if p == partExtra {
			continue
		}
		if s.part = p; seen[p] {
			s.duplicate(&s.outer[i])
		}
		seen[p] = true
	}
	s.part = partExtra
	set.close(s, s.outer)
}

// partOf says which part of an event a member is.
func partOf(name []byte) part {
	switch string(name) {
	case "type":
		return partType
	case "ts":
		return partTS
	case "data":
		return partData
	default:
		return partExtra
	}
}

// partBytes returns the bytes of a part of the event, nil when it is absent or
// null.
func (s *scanner) partBytes(p part) []byte {
	return s.present(s.event.parts[p].start, s.event.parts[p].end)
}

// present returns a value's bytes, nil when it is absent or null.
func (s *scanner) present(start, end uint32) []byte {
	if start == end || s.body[start] == 'n' {
		return nil
	}
	return s.body[start:end]
}
