package readmodel

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// event is one row of the table events as the API shows it.
type event struct {
	id       string
	kind     string
	at       int64 // ts, nanoseconds since 1970
	received int64 // milliseconds since 1970
	data     string
}

// append writes the event as JSON. data goes out byte for byte as it came in,
// which encoding/json would not do: it re-spaces and escapes raw messages.
func (e *event) append(b []byte) []byte {
	b = append(b, `{"event_id":"`...)
	b = append(b, e.id...)
	b = append(b, `","type":"`...)
	b = append(b, e.kind...)
	b = append(b, `","ts":"`...)
	b = time.Unix(0, e.at).UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","received_at":"`...)
	b = time.UnixMilli(e.received).UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","data":`...)
	b = append(b, e.data...)
	return append(b, '}')
}

// eventsBody is the body of a page of events, with more members before data.
func eventsBody(head string, events []event, next string) []byte {
	b := append([]byte("{"), head...)
	b = append(b, `"data":[`...)
	for i := range events {
		if i > 0 {
			b = append(b, ',')
		}
		b = events[i].append(b)
	}
	b = append(b, `],"next_cursor":`...)
	if next == "" {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendQuote(b, next)
	}
	return append(b, "}\n"...)
}

func writeBody(w http.ResponseWriter, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(body) // a client that went away is no fault
}

// nanos is a time in an answer, in nanoseconds since 1970.
type nanos int64

func (n nanos) MarshalJSON() ([]byte, error) {
	return time.Unix(0, int64(n)).UTC().AppendFormat(make([]byte, 0, 40), `"`+time.RFC3339Nano+`"`), nil
}

// rawJSON is JSON text kept as sent; "" is null, and what turns out not to be
// JSON goes out as a text, so that one odd row cannot break an answer.
func rawJSON(s string) json.RawMessage {
	switch {
	case s == "":
		return json.RawMessage("null")
	case json.Valid([]byte(s)):
		return json.RawMessage(s)
	}
	quoted, _ := json.Marshal(s) // a string always encodes
	return quoted
}

// orNull is a text in an answer; "" is null.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
