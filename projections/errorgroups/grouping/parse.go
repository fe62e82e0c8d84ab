package grouping

import (
	"errors"
	"strings"
)

// ErrNotObject says that the data of an error event is no JSON object. The Payload that
// comes with it can be grouped all the same: its message is the data as text.
var ErrNotObject = errors.New("grouping: error payload is not a JSON object; it was taken as a message")

// ParsePayload reads the data of an error event or the body of a capture request. A field of
// an unexpected JSON type is kept as text. The only error is ErrNotObject, and the Payload is
// usable then too, so a fold may ignore it.
func ParsePayload(data []byte) (Payload, error) {
	s := string(data)
	var p Payload
	if !members(s, func(key, value string) bool { p.set(key, value); return true }) {
		p.Message += text(strings.TrimSpace(s))
		return p, ErrNotObject
	}
	return p, nil
}

// set takes one member of the payload.
func (p *Payload) set(key, value string) {
	switch key {
	case "name":
		p.Name = text(value)
	case "message":
		p.Message = text(value)
	case "stack":
		p.Stack = text(value)
	case "release":
		p.Release = text(value)
	case "environment":
		p.Environment = text(value)
	case "service":
		p.Service = text(value)
	case "platform":
		p.Platform = strings.ToLower(text(value))
	case "request":
		p.Request = []byte(value)
	case "fingerprint":
		p.Fingerprint = fingerprintParts(value)
	default:
		p.Metadata = append(p.Metadata, Field{Name: key, Value: value})
	}
}

// fingerprintParts reads the client's fingerprint: an array of texts, or one text.
func fingerprintParts(value string) []string {
	if !strings.HasPrefix(value, "[") {
		if part := text(value); part != "" {
			return []string{part}
		}
		return nil
	}
	var parts []string
	elements(value, func(v string) bool {
		parts = append(parts, text(v))
		return len(parts) < 64
	})
	return parts
}
