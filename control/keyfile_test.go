package control

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestKeyFileIsMadeOnceAndPrivate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "master.key")
	keys := make([]Secret, 16)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], err = LoadOrCreateKeyFile(path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, k := range keys {
		if len(k.Bytes()) != MasterKeyLen || k.Reveal() != keys[0].Reveal() {
			t.Fatal("processes that start at once must have one key")
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
	again, err := LoadOrCreateKeyFile(path)
	if err != nil || again.Reveal() != keys[0].Reveal() {
		t.Errorf("read back: %v", err)
	}
}

func TestKeyFileFaults(t *testing.T) {
	good := base64.StdEncoding.EncodeToString(testMasterKey.Bytes())
	for _, c := range []struct {
		name, text string
		mode       os.FileMode
		says       string
	}{
		{"good", good + "\n", 0o600, ""},
		{"read-only", good, 0o400, ""},
		{"readable by the group", good, 0o640, "chmod 600"},
		{"readable by all", good, 0o644, "chmod 600"},
		{"empty", "", 0o600, "44 characters"},
		{"short", good[:20], 0o600, "44 characters"},
		{"not base64", strings.Repeat("!", 44), 0o600, "44 characters"},
		{"too large", strings.Repeat("A", maxKeyFile+1), 0o600, "too many"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "k")
			if err := os.WriteFile(path, []byte(c.text), c.mode); err != nil {
				t.Fatal(err)
			}
			_, err := LoadOrCreateKeyFile(path)
			if (err == nil) != (c.says == "") {
				t.Fatalf("got %v", err)
			}
			if err == nil {
				return
			}
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) || (c.text != "" && strings.Contains(err.Error(), c.text)) {
				t.Errorf("the error should say %q and %s and not the key: %v", c.says, path, err)
			}
			if b, _ := os.ReadFile(path); string(b) != c.text {
				t.Error("a file that is there must never be replaced")
			}
		})
	}
	if _, err := LoadOrCreateKeyFile(filepath.Join(t.TempDir(), "none", "k")); err == nil || !strings.Contains(err.Error(), "folder must exist") {
		t.Errorf("no folder: %v", err)
	}
	if _, err := LoadOrCreateKeyFile(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("a folder: %v", err)
	}
}

func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "admin.token")
	made, err := LoadOrCreateTokenFile(path)
	if err != nil || !strings.HasPrefix(made.Reveal(), "weiradm_") {
		t.Fatalf("%v", err)
	}
	read, err := LoadOrCreateTokenFile(path)
	if err != nil || read.Reveal() != made.Reveal() {
		t.Fatalf("%v", err)
	}
	for _, bad := range []string{"", "short", "has a space in the middle", strings.Repeat("x", maxBearer+1)} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadOrCreateTokenFile(path); err == nil || (bad != "" && strings.Contains(err.Error(), bad)) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
