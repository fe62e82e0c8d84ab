package clickhouse

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// StartOnTakenPort is Start whose first choice of ports has been taken meanwhile.
func StartOnTakenPort(ctx context.Context, cfg Config, taken net.Listener) (*Server, error) {
	first := true
	s, err := start(ctx, cfg, func() (ports, error) {
		p, err := freePorts()
		if first {
			first = false
			p.native = taken.Addr().(*net.TCPAddr).Port
		}
		return p, err
	})
	if err == nil {
		go s.supervise() //nolint:contextcheck // as in Start
	}
	return s, err
}

// StartWithTries is Start with fewer restarts before it gives up.
func StartWithTries(ctx context.Context, cfg Config, tries int) (*Server, error) {
	s, err := start(ctx, cfg, freePorts)
	if err == nil {
		s.tries = tries
		go s.supervise() //nolint:contextcheck // as in Start
	}
	return s, err
}

// ProgramFromLibrary writes a program that takes a clickhouse program's arguments and runs the
// library in the test binary.
func ProgramFromLibrary(dir, cacheDir string) (string, error) {
	engine, err := Find(context.Background(), FindConfig{CacheDir: cacheDir})
	if err != nil || engine.Program != "" {
		return engine.Program, err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "clickhouse")
	text := fmt.Sprintf("#!/bin/sh\n[ -e %s/broken ] && exit 1\n[ \"$1\" = local ] || exit 2\nshift\n%s=%s exec %s \"$@\"\n", dir, childEnv, engine.Library, self)
	return program, os.WriteFile(program, []byte(text), 0o755)
}

// FakeLibrary puts a file of the right size that is no library into the cache.
func FakeLibrary(cacheDir string) error {
	pkg, err := platformPackage()
	if err != nil {
		return err
	}
	library := pkg.libraryPath(cacheDir)
	if err := os.MkdirAll(library[:len(library)-len(pkg.Library)], 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(library, []byte("no library"), 0o644); err != nil {
		return err
	}
	return os.Truncate(library, pkg.LibrarySize)
}
