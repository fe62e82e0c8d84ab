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
	p.promote()
	return p, nil
}

// Reads reports whether a member of that name can decide the group: data that differs only in
// others is of the same group and has the same name, message and culprit.
func Reads(name string) bool {
	switch name {
	case "name", "message", "stack", "fingerprint", "platform", "language", "runtime",
		"stacktrace", "stack_trace", "stackTrace", "frames", "backtrace", "trace",
		"type", "class", "exception_type", "error_type",
		"cause", "causes", "chain", "exceptions", "exception", "inner", "innerException", "inner_exception", "errors":
		return true
	}
	return false
}

// set takes one member of the payload; a name that matters is in Reads, too. What only helps grouping is kept in the metadata too.
func (p *Payload) set(key, value string) {
	switch key {
	case "name":
		p.Name = text(value)
		return
	case "message":
		p.Message = text(value)
		return
	case "stack":
		p.setStack(value)
		return
	case "release":
		p.Release = text(value)
		return
	case "environment":
		p.Environment = text(value)
		return
	case "service":
		p.Service = text(value)
		return
	case "request":
		p.Request = []byte(value)
		return
	case "fingerprint":
		p.Fingerprint = fingerprintParts(value)
		return
	case "platform", "language", "runtime":
		p.Platform = strings.ToLower(text(value))
	case "stacktrace", "stack_trace", "stackTrace", "frames", "backtrace", "trace":
		if p.Stack == "" && p.Frames == nil {
			p.setStack(value)
		}
	case "type", "class", "exception_type", "error_type":
		if p.Name == "" {
			p.Name = text(value)
		}
	case "cause", "causes", "chain", "exceptions", "exception", "inner", "innerException", "inner_exception", "errors":
		p.Chain = append(p.Chain, readChain(value)...)
	}
	p.Metadata = append(p.Metadata, Field{Name: key, Value: value})
}

// setStack takes a stack as frames where it is an array or an object of frames, else as text.
func (p *Payload) setStack(value string) {
	p.Stack, p.Frames = "", nil
	if lines := frameLines(value); lines != "" {
		p.Stack = lines
		return
	}
	if value != "" && (value[0] == '[' || value[0] == '{') {
		if p.Frames = frameList(value); len(p.Frames) > 0 {
			return
		}
	}
	p.Stack = text(value)
}

// promote makes the first of a chain the exception itself, where the payload names none or
// the chain begins with the same.
func (p *Payload) promote() {
	if len(p.Chain) > 0 && p.Name != "" && p.Chain[0].Type == p.Name && p.Chain[0].Message == p.Message {
		if p.Stack == "" && len(p.Frames) == 0 {
			p.Frames = p.Chain[0].Frames
		}
		p.Chain = p.Chain[1:]
		return
	}
	if p.Name != "" || p.Message != "" || p.Stack != "" || len(p.Frames) > 0 || len(p.Chain) == 0 {
		return
	}
	first := p.Chain[0]
	p.Name, p.Message, p.Frames, p.Chain = first.Type, first.Message, first.Frames, p.Chain[1:]
}

// maxFingerprintParts is how many parts of a client's fingerprint count.
const maxFingerprintParts = 64

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
		return len(parts) < maxFingerprintParts
	})
	return parts
}
