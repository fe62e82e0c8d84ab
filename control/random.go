package control

import (
	"crypto/rand"
	"encoding/base64"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// randomBase62 returns n characters, each uniform over base62 (5.95 bits).
func randomBase62(n int) string {
	const unbiased = 256 - 256%62 // bytes from here on would favour the first characters
	out := make([]byte, 0, n)
	var block [64]byte
	for len(out) < n {
		_, _ = rand.Read(block[:]) // never fails: the program ends instead
		for _, b := range block {
			if b < unbiased && len(out) < n {
				out = append(out, base62[b%62])
			}
		}
	}
	return string(out)
}

func isBase62(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

const (
	projectPrefix   = "prj_"
	secretPrefix    = "whsec_"
	tokenPrefix     = "weiradm_"
	projectIDRandom = 16 // 95 bits: an id is never drawn twice
)

// newProjectID draws prj_ and 16 base62 characters.
func newProjectID() string { return projectPrefix + randomBase62(projectIDRandom) }

// newWebhookSecret draws whsec_ and the base64 of 32 random bytes. All of the
// text, prefix included, is the HMAC key.
func newWebhookSecret() Secret {
	var b [32]byte
	_, _ = rand.Read(b[:])
	return NewSecret(secretPrefix + base64.StdEncoding.EncodeToString(b[:]))
}
