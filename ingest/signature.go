package ingest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"

	"weir/internal/httpapi"
)

// headerSignature is spelled as net/http keys it.
const headerSignature = "X-Service-Signature"

// checkSignature compares the header with the HMAC-SHA256 of the body as sent,
// keyed with the whole text of the webhook secret. Hex of either case; nothing
// before it. A missing signature is a wrong one.
func (q *request) checkSignature() error {
	values := q.r.Header[headerSignature]
	if len(values) == 1 && q.signer.signed(q.caller.Secret, q.sent, values[0]) {
		return nil
	}
	return httpapi.Errorf(httpapi.CodeBadSignature,
		"send %s: the bare hex HMAC-SHA256 of the body exactly as sent (compressed, if it is), keyed with the project's webhook secret", headerSignature)
}

// signer keeps the keyed hash of the secret it met last: making one costs more
// than the signature of a small body.
type signer struct {
	secret []byte
	mac    hash.Hash
	want   [sha256.Size]byte
}

// signed takes the same time wherever the signatures differ. No secret signs nothing.
func (s *signer) signed(secret, body []byte, signature string) bool {
	var given [sha256.Size]byte
	if len(secret) == 0 || len(signature) != hex.EncodedLen(len(given)) {
		return false
	}
	if _, err := hex.Decode(given[:], []byte(signature)); err != nil {
		return false
	}
	if s.mac == nil || !bytes.Equal(s.secret, secret) {
		s.secret, s.mac = secret, hmac.New(sha256.New, secret)
	} else {
		s.mac.Reset()
	}
	s.mac.Write(body)
	return hmac.Equal(given[:], s.mac.Sum(s.want[:0]))
}
