package eventlog

import (
	"fmt"
	"strconv"
	"strings"
)

// Position says how far one partition must be folded: Next is the offset after
// the last record.
type Position struct {
	Topic     string
	Partition int
	Next      int64
}

// Positions are positions of several partitions, the value of the header
// X-Service-Log-Position.
type Positions []Position

// String is the text form, such as "log:0:1235,deploy:2:17": the event type (or
// the whole name of another topic), the partition, the next offset.
func (ps Positions) String() string {
	b := make([]byte, 0, 24*len(ps))
	for i, p := range ps {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, shortTopic(p.Topic)...)
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(p.Partition), 10)
		b = append(b, ':')
		b = strconv.AppendInt(b, p.Next, 10)
	}
	return string(b)
}

// mostPositions bounds what is read from a header: all partitions one request
// can touch are far fewer.
const mostPositions = 256

// ParsePositions reads the text form. The empty string has no positions. The
// error says which part is wrong.
func ParsePositions(s string) (Positions, error) {
	if s == "" {
		return nil, nil
	}
	parts := strings.Split(s, ",")
	if len(parts) > mostPositions {
		return nil, fmt.Errorf("log position: %d parts, at most %d are allowed", len(parts), mostPositions)
	}
	positions := make(Positions, len(parts))
	for i, part := range parts {
		p, ok := parsePosition(part)
		if !ok {
			return nil, fmt.Errorf("log position: part %d is not topic:partition:offset", i+1)
		}
		positions[i] = p
	}
	return positions, nil
}

func parsePosition(s string) (Position, bool) {
	topic, rest, ok1 := strings.Cut(s, ":")
	partition, next, ok2 := strings.Cut(rest, ":")
	p, err1 := strconv.ParseUint(partition, 10, 31)
	n, err2 := strconv.ParseUint(next, 10, 63)
	if !ok1 || !ok2 || err1 != nil || err2 != nil || !validTopic(topic) {
		return Position{}, false
	}
	return Position{Topic: longTopic(topic), Partition: int(p), Next: int64(n)}, true
}

// validTopic reports whether Kafka would take the name.
func validTopic(s string) bool {
	if s == "" || len(s) > 249 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
