package control

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// MinTokenLen is the least length of an admin token in characters.
const MinTokenLen = 16

// maxKeyFile bounds what is read of a key file: a larger file is not one.
const maxKeyFile = 4096

// LoadOrCreateKeyFile reads the master key at path, 32 bytes in base64 on one
// line, or makes a new one, readable by its owner only, when there is no file;
// the folder must exist. It fails for a file that others can read or that is
// no key. Without this file the webhook secrets in the log cannot be opened
// again: keep a copy of it.
func LoadOrCreateKeyFile(path string) (Secret, error) {
	text, err := loadOrCreate(path, func() string {
		var b [MasterKeyLen]byte
		_, _ = rand.Read(b[:])
		return base64.StdEncoding.EncodeToString(b[:])
	})
	if err != nil {
		return Secret{}, err
	}
	key, err := ParseMasterKey(text)
	if err != nil {
		return Secret{}, fmt.Errorf("%s: %w: put the right file back; a new one would not open the secrets there are", path, err)
	}
	return key, nil
}

// ParseMasterKey reads a master key as it is in its file and in WEIR_MASTER_KEY: base64 of 32 bytes.
func ParseMasterKey(text string) (Secret, error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(b) != MasterKeyLen {
		return Secret{}, fmt.Errorf("a master key is the base64 of %d bytes, 44 characters; this is not", MasterKeyLen)
	}
	return secretOf(b), nil
}

// LoadOrCreateTokenFile reads the admin token at path, or makes one, as
// LoadOrCreateKeyFile does. Deleting the file and starting again replaces the token.
func LoadOrCreateTokenFile(path string) (Secret, error) {
	text, err := loadOrCreate(path, func() string { return tokenPrefix + randomBase62(40) })
	if err != nil {
		return Secret{}, err
	}
	if n := len(text); n < MinTokenLen || n > maxBearer || strings.ContainsAny(text, " \t\r\n,") {
		return Secret{}, fmt.Errorf("%s: an admin token is one line of %d to %d characters without spaces: delete the file to have a new one made",
			path, MinTokenLen, maxBearer)
	}
	return NewSecret(text), nil
}

// loadOrCreate makes the file whole or not at all: it is written beside path
// and then linked to it, which fails when another process was first; then that one's is read.
func loadOrCreate(path string, make func() string) (string, error) {
	text, err := readPrivate(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	if err := createPrivate(path, make()); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("create %s: %w: the folder must exist and be writable", path, err)
	}
	return readPrivate(path)
}

func readPrivate(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a file", path)
	case info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("%s can be read by others (mode %04o): run chmod 600 on it, and replace what is in it if others may have read it",
			path, info.Mode().Perm())
	case info.Size() > maxKeyFile:
		return "", fmt.Errorf("%s has %d bytes: too many for a key file", path, info.Size())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(b)), nil
}

func createPrivate(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-key-*") // made with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err = f.WriteString(text + "\n"); err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the new name survive a power loss.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
