package schemas

// scanner is the one pass over a body: it verifies JSON byte by byte and, in
// events, notes the names of every open object. All positions are offsets in
// body. Its functions return the position after what they scanned, or failed.
type scanner struct {
	body []byte

	// A syntax fault ends everything; it is recorded once.
	faultAt int
	fault   string

	// strict is on inside events: names are compared and escapes are paired.
	strict bool
	// part is the member of the event being scanned, to file flaws under.
	part   part
	flawed bool
	flaws  [partCount]flaw

	outer   []name   // members of the event itself
	names   []name   // members of data, then of the open objects inside it
	decoded []byte   // decoded forms of the escaped names of this event
	table   []uint32 // scratch of duplicatesAmong

	event eventParts
}

// failed is returned in place of a position after a syntax fault.
const failed = -1

// Syntax faults, in words for the client.
const (
	faultEnd       = "the JSON ends too early"
	faultValue     = "expected a JSON value"
	faultLiteral   = "expected true, false or null"
	faultNumber    = "malformed number"
	faultName      = "expected a member name in double quotes"
	faultColon     = "expected a colon after the member name"
	faultObject    = "expected a comma or a closing brace in an object"
	faultArray     = "expected a comma or a closing bracket in an array"
	faultDepth     = "arrays and objects nest deeper than 64"
	faultControl   = "control character in a string; it must be escaped"
	faultEscape    = "unknown escape in a string"
	faultUTF8      = "invalid UTF-8"
	faultBOM       = "the body begins with a byte order mark; send it without"
	faultTrailing  = "data after the end of the JSON value"
	faultEmpty     = "the body is empty"
	faultTwoEvents = "the member \"events\" is there twice"
	faultTooLarge  = "the body is larger than 4 GiB"
)

// begin makes the scanner ready for a body, keeping its buffers.
func (s *scanner) begin(body []byte) {
	s.body = body
	s.faultAt, s.fault = 0, ""
	s.strict = false
}

// fail records the first syntax fault. Past the end, the fault is that the
// text ended.
func (s *scanner) fail(at int, fault string) int {
	if at >= len(s.body) {
		at, fault = len(s.body), faultEnd
	}
	s.faultAt, s.fault = at, fault
	return failed
}

// space skips white space from i on.
func (s *scanner) space(i int) int {
	b := s.body
	for uint(i) < uint(len(b)) && b[i] <= ' ' {
		if c := b[i]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			break
		}
		i++
	}
	return i
}

// at returns the byte at i, 0 past the end. A zero byte has no place between
// JSON tokens, so callers need no second check.
func (s *scanner) at(i int) byte {
	if uint(i) < uint(len(s.body)) {
		return s.body[i]
	}
	return 0
}

// value scans any value at i; depth counts the containers open around it.
func (s *scanner) value(i, depth int) int {
	switch s.at(i) {
	case '"':
		end, _ := s.text(i)
		return end
	case '{':
		base := len(s.names)
		end := s.object(i, depth)
		s.names = s.names[:base]
		return end
	case '[':
		return s.array(i, depth)
	case 't':
		return s.literal(i, "true")
	case 'f':
		return s.literal(i, "false")
	case 'n':
		return s.literal(i, "null")
	default:
		return s.number(i)
	}
}

// literal scans true, false or null.
func (s *scanner) literal(i int, word string) int {
	if end := i + len(word); end <= len(s.body) && string(s.body[i:end]) == word {
		return end
	}
	for j := range len(word) { // point at the byte that differs
		if s.at(i+j) != word[j] {
			return s.fail(i+j, faultLiteral)
		}
	}
	return s.fail(i, faultLiteral)
}

// array scans the array that opens at i.
func (s *scanner) array(i, depth int) int {
	if depth >= MaxDepth {
		return s.fail(i, faultDepth)
	}
	i = s.space(i + 1)
	if s.at(i) == ']' {
		return i + 1
	}
	for {
		if i = s.value(i, depth+1); i == failed {
			return failed
		}
		i = s.space(i)
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

// object scans the object that opens at i. In strict mode its members stay on
// s.names for the caller to use and drop.
func (s *scanner) object(i, depth int) int {
	if depth >= MaxDepth {
		return s.fail(i, faultDepth)
	}
	i = s.space(i + 1)
	if s.at(i) == '}' {
		return i + 1
	}
	set := nameSet{base: len(s.names)}
	for {
		nameEnd, at, escaped := s.member(i)
		if at == failed {
			return failed
		}
		end := s.value(at, depth+1)
		if end == failed {
			return failed
		}
		if s.strict {
			s.names = oneMore(s.names)
			n := &s.names[len(s.names)-1]
			n.value, n.valueEnd = uint32(at), uint32(end)
			s.setName(n, i, nameEnd, escaped)
			set.check(s, s.names)
		}
		i = s.space(end)
		switch s.at(i) {
		case ',':
			i = s.space(i + 1)
		case '}':
			set.close(s, s.names)
			return i + 1
		default:
			return s.fail(i, faultObject)
		}
	}
}

// member scans the name at i and the colon after it. It returns where the name
// ends, its closing quote included, where the value begins, and whether the
// name holds escapes.
func (s *scanner) member(i int) (end, at int, escaped bool) {
	if s.at(i) != '"' {
		return 0, s.fail(i, faultName), false
	}
	if end, escaped = s.text(i); end == failed {
		return 0, failed, false
	}
	i = s.space(end)
	if s.at(i) != ':' {
		return 0, s.fail(i, faultColon), false
	}
	return end, s.space(i + 1), escaped
}
