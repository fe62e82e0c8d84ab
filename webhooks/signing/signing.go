// Package signing signs and verifies deliveries as Standard Webhooks 1.0.0 says:
//
//	webhook-id         the delivery, the same on every attempt
//	webhook-timestamp  the attempt, Unix seconds
//	webhook-signature  v1,<base64 of HMAC-SHA256 over "id.timestamp.body">, several
//	                   separated by spaces while more than one secret is valid
//
// The HMAC key is what the base64 after "whsec_" decodes to, unlike the key of
// ingest batches, which is the secret's whole text.
package signing

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Header names of a signed delivery.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

const (
	secretPrefix = "whsec_"
	scheme       = "v1,"

	// Tolerance is how far a timestamp may be from the verifier's clock.
	Tolerance = 5 * time.Minute
)

// Why a delivery does not verify, or a secret is none.
var (
	ErrSecret    = errors.New("the secret is not whsec_ and base64")
	ErrHeaders   = errors.New("webhook-id, webhook-timestamp or webhook-signature is missing or malformed")
	ErrTimestamp = errors.New("the timestamp is too far from now: a replay, or a wrong clock")
	ErrSignature = errors.New("no signature matches")
)

// Key is a decoded secret. It prints nothing of itself.
type Key struct{ bytes func() []byte }

// ParseSecret reads a secret's text.
func ParseSecret(text string) (Key, error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, secretPrefix))
	if err != nil || len(b) == 0 {
		return Key{}, ErrSecret
	}
	return Key{func() []byte { return b }}, nil
}

// Format prints no key, whatever the verb.
func (Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[redacted]")) }

// Sign returns the value of webhook-signature: one signature for each key, in order.
func Sign(id string, at time.Time, body []byte, keys ...Key) string {
	var b []byte
	for i, k := range keys {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, scheme...)
		b = base64.StdEncoding.AppendEncode(b, k.sum(id, at.Unix(), body))
	}
	return string(b)
}

func (k Key) sum(id string, unix int64, body []byte) []byte {
	mac := hmac.New(sha256.New, k.bytes())
	head := make([]byte, 0, 64)
	head = append(append(head, id...), '.')
	head = append(strconv.AppendInt(head, unix, 10), '.')
	mac.Write(head)
	mac.Write(body)
	return mac.Sum(head[:0])
}

// Verify checks a received delivery against one key: nil when any of its
// signatures matches and its timestamp is within Tolerance of now.
func Verify(h http.Header, body []byte, key Key, now time.Time) error {
	id, stamp, signatures := h.Get(HeaderID), h.Get(HeaderTimestamp), h.Get(HeaderSignature)
	unix, err := strconv.ParseInt(stamp, 10, 64)
	if id == "" || signatures == "" || err != nil {
		return ErrHeaders
	}
	if off := now.Sub(time.Unix(unix, 0)); off > Tolerance || off < -Tolerance {
		return ErrTimestamp
	}
	return match(signatures, key.sum(id, unix, body))
}

func match(signatures string, want []byte) error {
	for one := range strings.FieldsSeq(signatures) {
		text, ok := strings.CutPrefix(one, scheme)
		if !ok {
			continue
		}
		if got, err := base64.StdEncoding.DecodeString(text); err == nil && hmac.Equal(got, want) {
			return nil
		}
	}
	return ErrSignature
}
