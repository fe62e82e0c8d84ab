package control

import (
	"crypto/sha256"
	"hash/crc32"
)

// An API key is 55 characters, every part of fixed length, base62:
//
//	weir_ KKKKKKKKKKKK SSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSS CCCCCC
//	      key id (12)  secret (32, 190 random bits)     checksum (6)
//
// The key id is public: it names the key in lists, logs and URLs. The checksum
// is the CRC-32 (IEEE) of everything before it, most significant digit first:
// a mistyped or invented key is refused without a look-up, and scanners can
// tell a leaked key from noise. The checksum protects nothing.
const (
	keyPrefix      = "weir_"
	keyIDLen       = 12
	keySecretLen   = 32
	keyChecksumLen = 6
	keyIDEnd       = len(keyPrefix) + keyIDLen
	keyBodyEnd     = keyIDEnd + keySecretLen
	keyLen         = keyBodyEnd + keyChecksumLen
)

// maxBearer bounds what is hashed of a credential; ours are far shorter.
const maxBearer = 256

// hash is the SHA-256 of a whole credential.
type hash [sha256.Size]byte

// apiKey is a key just drawn: the only moment its text exists on our side.
type apiKey struct {
	id   string
	text Secret
	hash hash
}

func newAPIKey() apiKey {
	id := randomBase62(keyIDLen)
	body := keyPrefix + id + randomBase62(keySecretLen)
	text := body + keyChecksum(body)
	return apiKey{id: id, text: NewSecret(text), hash: sha256.Sum256([]byte(text))}
}

// keyIDOf returns the key id of a well-formed key. It does not allocate.
func keyIDOf(bearer string) (string, bool) {
	if len(bearer) != keyLen || bearer[:len(keyPrefix)] != keyPrefix || !isBase62(bearer[len(keyPrefix):]) {
		return "", false
	}
	want := checksumDigits(bearer[:keyBodyEnd])
	if string(want[:]) != bearer[keyBodyEnd:] {
		return "", false
	}
	return bearer[len(keyPrefix):keyIDEnd], true
}

func keyChecksum(body string) string {
	digits := checksumDigits(body)
	return string(digits[:])
}

// checksumDigits writes the CRC-32 of body in base62; 62^6 is over 2^32, so
// six digits hold every sum. The loop is written out because crc32.Update
// would need the text as bytes, an allocation for each request.
func checksumDigits(body string) (digits [keyChecksumLen]byte) {
	sum := ^uint32(0)
	for i := range len(body) {
		sum = crc32.IEEETable[byte(sum)^body[i]] ^ sum>>8
	}
	sum = ^sum
	for i := keyChecksumLen - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return digits
}

// hashOf hashes a credential without allocating; what is longer than
// maxBearer is nobody's and is not hashed.
func hashOf(bearer string) (hash, bool) {
	if len(bearer) > maxBearer {
		return hash{}, false
	}
	var b [maxBearer]byte
	return sha256.Sum256(b[:copy(b[:], bearer)]), true
}
