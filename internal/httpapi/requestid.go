package httpapi

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
)

// HeaderRequestID carries the request's id in requests and responses.
const HeaderRequestID = "X-Request-Id"

// RequestID returns the id Observe gave to the request, "" outside of one.
func RequestID(ctx context.Context) string {
	if s := stateFrom(ctx); s != nil {
		return s.id
	}
	return ""
}

// requestID takes the caller's id when it is short and plain. No underscore:
// API keys and secrets have one, so they can't get into the log this way.
func requestID(r *http.Request) string {
	if id := r.Header.Get(HeaderRequestID); plainID(id) {
		return id
	}
	// Ids are to be told apart, not to be secret.
	var b [16]byte
	return string(hex.AppendEncode(b[:0], binary.BigEndian.AppendUint64(nil, rand.Uint64())))
}

func plainID(id string) bool {
	if len(id) == 0 || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '.' {
			return false
		}
	}
	return true
}
