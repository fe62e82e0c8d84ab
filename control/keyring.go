package control

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// MasterKeyLen is the length of a master key in bytes.
const MasterKeyLen = 32

// ErrUnknownMasterKey says that a sealed secret names a master key that is not
// in the keyring; ErrSealBroken that it is not what was sealed for that entity.
var (
	ErrUnknownMasterKey = errors.New("sealed under a master key this node does not have: start it with the master key of the data it reads, or add the former one")
	ErrSealBroken       = errors.New("the sealed secret is damaged or belongs to another entity")
)

// Keyring seals secrets with AES-256-GCM. It seals under the first master key
// and opens under any, so that a master key can be replaced: start with the
// new one first and the old one after it, and seal everything again. It is
// safe for concurrent use.
type Keyring struct {
	sealID string
	keys   map[string]func() cipher.AEAD // behind functions for the reason Secret is
}

// NewKeyring takes the master key to seal under and former ones that only open. Each has MasterKeyLen bytes.
func NewKeyring(current Secret, former ...Secret) (*Keyring, error) {
	k := &Keyring{sealID: masterKeyID(current), keys: map[string]func() cipher.AEAD{}}
	for _, key := range append([]Secret{current}, former...) {
		if n := len(key.Bytes()); n != MasterKeyLen {
			return nil, fmt.Errorf("a master key has %d bytes, must have %d", n, MasterKeyLen)
		}
		block, err := aes.NewCipher(key.Bytes())
		if err != nil {
			return nil, fmt.Errorf("use the master key: %w", err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("use the master key: %w", err)
		}
		k.keys[masterKeyID(key)] = func() cipher.AEAD { return aead }
	}
	return k, nil
}

// masterKeyID is public: it stands in every ciphertext and tells nothing about the key.
func masterKeyID(key Secret) string {
	sum := sha256.Sum256(append([]byte("weir master key id\x00"), key.Bytes()...))
	return hex.EncodeToString(sum[:4])
}

// Format prints no key, whatever the verb.
func (k *Keyring) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "Keyring(seals under %s)", k.sealID)
}

const sealVersion = "s1"

// Seal encrypts a secret for one entity and purpose: the result opens for
// these two only. Its text is s1.<master key id>.<base64url of nonce and
// ciphertext>; the nonce is 96 random bits.
func (k *Keyring) Seal(purpose, entity string, secret Secret) string {
	aead := k.keys[k.sealID]()
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(secret.Bytes())+aead.Overhead())
	_, _ = rand.Read(nonce)
	sealed := aead.Seal(nonce, nonce, secret.Bytes(), sealedFor(purpose, entity, k.sealID))
	return strings.Join([]string{sealVersion, k.sealID, base64.RawURLEncoding.EncodeToString(sealed)}, ".")
}

// Open decrypts what Seal made for the same entity and purpose: else
// ErrUnknownMasterKey or ErrSealBroken.
func (k *Keyring) Open(purpose, entity, sealed string) (Secret, error) {
	parts := strings.Split(sealed, ".")
	if len(parts) != 3 || parts[0] != sealVersion {
		return Secret{}, ErrSealBroken
	}
	key, ok := k.keys[parts[1]]
	if !ok {
		return Secret{}, ErrUnknownMasterKey
	}
	aead := key()
	b, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(b) < aead.NonceSize() {
		return Secret{}, ErrSealBroken
	}
	n := aead.NonceSize()
	text, err := aead.Open(nil, b[:n], b[n:], sealedFor(purpose, entity, parts[1]))
	if err != nil {
		return Secret{}, ErrSealBroken
	}
	return secretOf(text), nil
}

// sealedFor is the associated data: it ties a ciphertext to what it is for.
func sealedFor(purpose, entity, keyID string) []byte {
	return []byte(strings.Join([]string{"weir.control", sealVersion, keyID, purpose, entity}, "\x00"))
}
