package datadir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/datadir"
)

func TestOpenCreatesAndLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	dir, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := dir.Path("log"); got != filepath.Join(path, "log") {
		t.Errorf("Path = %q", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder mode %v, error %v; want 0700", info.Mode(), err)
	}

	_, err = datadir.Open(path)
	if !errors.Is(err, datadir.ErrInUse) || !strings.Contains(err.Error(), "--data") {
		t.Errorf("second Open: %v; want ErrInUse that says what to do", err)
	}

	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := datadir.Open(path)
	if err != nil {
		t.Fatalf("Open after Close: %v", err)
	}
	_ = again.Close()
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := datadir.Open(file)
	if err == nil || !strings.Contains(err.Error(), "is not a folder") || !strings.Contains(err.Error(), "WEIR_DATA_DIR") {
		t.Errorf("Open on a file: %v", err)
	}
}
