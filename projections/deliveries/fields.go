package deliveries

import (
	"fmt"
	"math"
	"time"

	"weir/projections"
	"weir/schemas"
)

// event is the data of a webhook event. The first four fields are the
// specification's; the others are what the webhook lane adds to its own. JSON
// names and meaning:
//
//	destination      string   name of the target: the endpoint's url or kind
//	url              string   where it was sent
//	statusCode       integer  of the answer; absent when none came
//	attempt          integer  from 1; 0 or absent: no attempt, only a state
//	deliveryId       string   our delivery; required of the lane
//	deliveryStatus   string   state of the delivery after this event: pending,
//	                          succeeded, retrying, exhausted, canceled; required
//	                          of the lane
//	status           string   of the attempt: succeeded, failed
//	failure          string   code when failed: timeout, dns, connect, tls,
//	                          blocked_address, status, …
//	startedAt        string   RFC 3339 UTC; the event's ts when absent
//	durationMs       number   milliseconds
//	endpointId       string
//	endpointVersion  integer
//	keyId            string   id of the key that signed, never the key
//	eventType        string   what was delivered: error.group.created, …
//	eventIds         array    of strings: the events it told about
//	requestHeaders   object   as sent, secrets redacted
//	responseHeaders  object
//	responseBody     string   its first 16 KiB
//	payload          object   what was delivered, of internal endpoints only
//
// Strings point into the record.
type event struct {
	destination, url           string
	statusCode                 int32
	number                     uint32
	deliveryID, deliveryStatus string
	status, failure            string
	startedAt                  time.Time
	durationMs                 float64
	endpointID                 string
	endpointVersion            uint32
	keyID, eventType           string
	eventIDs                   string // JSON
	requestHeaders             string // JSON
	responseHeaders            string // JSON
	responseBody               string
	payload                    string // JSON
	fault                      error
}

// member takes one member of the data object.
func (e *event) member(name, value []byte) bool {
	if schemas.IsNull(value) {
		return true
	}
	switch string(name) {
	case "destination":
		e.text(&e.destination, name, value)
	case "url":
		e.text(&e.url, name, value)
	case "statusCode":
		e.statusCode = int32(e.integer(name, value, math.MaxInt32))
	case "attempt":
		e.number = uint32(e.integer(name, value, math.MaxInt32))
	default:
		e.added(name, value)
	}
	return e.fault == nil
}

// added takes the members that the specification does not list. A client may
// send any of these names with any type, so a wrong type is as good as absent.
func (e *event) added(name, value []byte) {
	switch string(name) {
	case "deliveryId":
		optional(&e.deliveryID, value)
	case "deliveryStatus":
		optional(&e.deliveryStatus, value)
	case "status":
		optional(&e.status, value)
	case "failure":
		optional(&e.failure, value)
	case "endpointId":
		optional(&e.endpointID, value)
	case "keyId":
		optional(&e.keyID, value)
	case "eventType":
		optional(&e.eventType, value)
	case "responseBody":
		optional(&e.responseBody, value)
	case "startedAt":
		if text, ok := schemas.StringBytes(value); ok {
			if at, err := schemas.ParseTime(text); err == nil {
				e.startedAt = at
			}
		}
	case "durationMs":
		if ms, ok := schemas.Float(value); ok {
			e.durationMs = ms
		}
	case "endpointVersion":
		if n, ok := schemas.Int(value); ok && n >= 0 && n <= math.MaxUint32 {
			e.endpointVersion = uint32(n)
		}
	case "eventIds":
		raw(&e.eventIDs, value, '[')
	case "requestHeaders":
		raw(&e.requestHeaders, value, '{')
	case "responseHeaders":
		raw(&e.responseHeaders, value, '{')
	case "payload":
		raw(&e.payload, value, '{')
	}
}

func (e *event) text(to *string, name, value []byte) {
	if !optional(to, value) {
		e.fault = fmt.Errorf("data.%s: must be a string", name)
	}
}

func (e *event) integer(name, value []byte, most int64) int64 {
	n, ok := schemas.Int(value)
	if !ok || n < 0 || n > most {
		e.fault = fmt.Errorf("data.%s: must be an integer from 0 to %d", name, most)
		return 0
	}
	return n
}

func optional(to *string, value []byte) bool {
	text, ok := schemas.StringBytes(value)
	if ok {
		*to = projections.Text(text)
	}
	return ok
}

// raw keeps a value as JSON when it begins as expected.
func raw(to *string, value []byte, first byte) {
	if len(value) > 0 && value[0] == first {
		*to = projections.Text(value)
	}
}
