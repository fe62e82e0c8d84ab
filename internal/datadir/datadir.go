// Package datadir owns the folder in which one weir process keeps its state: the embedded
// log, the embedded ClickHouse, the master key and the admin token.
//
// One process at a time: two brokers writing one log would destroy it, so Open takes an
// advisory lock (flock) that the kernel gives back when the process ends, however it ends.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ErrInUse means that another weir process holds the folder.
var ErrInUse = errors.New("data folder is in use")

// Dir is an opened, locked data folder. Close gives the lock back.
type Dir struct {
	path string
	lock *os.File
}

// Open creates the folder (mode 0700) if it is missing, proves that it can be written, and locks it.
// The errors name the folder and what to do about it.
func Open(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data folder %q: %w", path, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, unusable(abs, err)
	}
	lock, err := os.OpenFile(filepath.Join(abs, "weir.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unusable(abs, err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		owner := readOwner(lock)
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s is held by another weir%s; stop that one or name another folder with --data", ErrInUse, abs, owner)
		}
		return nil, unusable(abs, err)
	}
	if err := writeOwner(lock); err != nil {
		_ = lock.Close()
		return nil, unusable(abs, err)
	}
	return &Dir{path: abs, lock: lock}, nil
}

// Path joins names below the folder.
func (d *Dir) Path(names ...string) string {
	return filepath.Join(append([]string{d.path}, names...)...)
}

// Close gives the lock back. The folder stays.
func (d *Dir) Close() error { return d.lock.Close() }

func unusable(path string, err error) error {
	what := "cannot be used"
	switch {
	case errors.Is(err, fs.ErrPermission):
		what = "cannot be written by this user"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		what = "is not a folder"
	case errors.Is(err, syscall.ENOSPC):
		what = "is on a full disk"
	case errors.Is(err, syscall.EROFS):
		what = "is on a read-only file system"
	}
	return fmt.Errorf("data folder %s %s (%w); name another with --data DIR or WEIR_DATA_DIR", path, what, err)
}

func writeOwner(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// readOwner says which process holds the lock, for the error text only: the number may be stale.
func readOwner(f *os.File) string {
	buf := make([]byte, 16)
	n, _ := f.ReadAt(buf, 0)
	pid := strings.TrimSpace(string(buf[:n]))
	if pid == "" {
		return ""
	}
	return " (process " + pid + ")"
}
