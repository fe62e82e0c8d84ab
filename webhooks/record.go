package webhooks

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

const recordVersion = 1

// record is what the owed and the delay topics hold: what is delivered, and to
// whom. A decision owes it to any number of endpoints; a record of a delay topic
// to exactly one.
type record struct {
	V        int             `json:"v"`
	Cause    string          `json:"cause"`
	Project  string          `json:"project"`
	Type     string          `json:"type"`
	At       time.Time       `json:"at"`                // of the occasion; the body's timestamp
	Control  int64           `json:"control,omitempty"` // the reader's Directory must have folded this far
	EventIDs []string        `json:"event_ids,omitempty"`
	Owed     []owed          `json:"owed"`
	Payload  json.RawMessage `json:"payload"`
}

// owed is one delivery and its next attempt.
type owed struct {
	Delivery string `json:"delivery"`
	Endpoint string `json:"endpoint"`
	Number   int    `json:"number"`          // of the next attempt, from 1
	First    int    `json:"first"`           // the number its schedule began with
	Round    string `json:"round,omitempty"` // of a redelivery: who asked for it
	Once     bool   `json:"once,omitempty"`  // one attempt, whatever comes of it
	Due      int64  `json:"due,omitempty"`   // not before, Unix milliseconds
	Hop      int    `json:"hop,omitempty"`   // how often it was moved since the last attempt
}

var errRecord = errors.New("no record of the webhook lane")

func decodeRecord(value []byte) (*record, error) {
	var r record
	if err := json.Unmarshal(value, &r); err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	if r.V != recordVersion {
		return nil, fmt.Errorf("%w: version %d", errRecord, r.V)
	}
	for _, o := range r.Owed {
		if o.Delivery == "" || o.Endpoint == "" || o.Number < 1 || o.First < 1 || o.First > o.Number {
			return nil, fmt.Errorf("%w: delivery %q, attempt %d", errRecord, o.Delivery, o.Number)
		}
	}
	return &r, nil
}

func (r *record) encode() []byte {
	b, err := json.Marshal(r)
	if err != nil { // the payload was checked to be JSON; nothing else can fail
		panic(err)
	}
	return b
}

// with is the record of a delay topic for one delivery.
func (r *record) with(o owed) *record {
	one := *r
	one.Owed = []owed{o}
	return &one
}

// body is what is sent to an http endpoint, the same bytes on every attempt.
func (r *record) body() []byte {
	kind, _ := json.Marshal(r.Type)
	b := make([]byte, 0, len(r.Payload)+len(kind)+64)
	b = append(append(b, `{"type":`...), kind...)
	b = append(b, `,"timestamp":"`...)
	b = r.At.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(append(b, `","data":`...), r.Payload...)
	return append(b, '}')
}

// identity of an attempt: the same delivery asked for again counts anew under another round.
type identity struct{ delivery, round string }

func (o owed) identity() identity { return identity{o.Delivery, o.Round} }

// batch is the batch id of a step of a delivery, so that a step that is appended
// twice is the same event.
func (o owed) batch(step string) [16]byte {
	return digest(step, o.Delivery, o.Round, strconv.Itoa(o.Number), strconv.Itoa(o.Hop))
}

func digest(parts ...string) (id [16]byte) {
	h := sha256.New()
	for _, p := range parts {
		var n [4]byte
		binary.BigEndian.PutUint32(n[:], uint32(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	copy(id[:], h.Sum(nil))
	return id
}

const deliveryPrefix = "dlv_"

var deliveryText = base32.HexEncoding.WithPadding(base32.NoPadding)

// deliveryID is the same for the same occasion and endpoint. It begins with the
// occasion's time, by which the record is found again.
func deliveryID(at time.Time, cause, endpoint string) string {
	var b [16]byte
	ms := uint64(at.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
	sum := digest("delivery", cause, endpoint)
	copy(b[6:], sum[:10])
	return deliveryPrefix + lower(deliveryText.EncodeToString(b[:]))
}

func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// decidedAt reads the time back; false for an id that is none of ours.
func decidedAt(id string) (time.Time, bool) {
	if len(id) != len(deliveryPrefix)+26 || id[:len(deliveryPrefix)] != deliveryPrefix {
		return time.Time{}, false
	}
	b, err := base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding).DecodeString(id[len(deliveryPrefix):])
	if err != nil {
		return time.Time{}, false
	}
	var ms uint64
	for _, c := range b[:6] {
		ms = ms<<8 | uint64(c)
	}
	return time.UnixMilli(int64(ms)), true
}
