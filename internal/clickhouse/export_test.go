package clickhouse

import (
	"context"
	"net"
	"os"
)

// StartOnTakenPort is Start whose first choice of ports has been taken meanwhile.
func StartOnTakenPort(ctx context.Context, cfg Config, taken net.Listener) (*Server, error) {
	first := true
	return start(ctx, cfg, func() (ports, error) {
		p, err := freePorts()
		if first {
			first = false
			p.native = taken.Addr().(*net.TCPAddr).Port
		}
		return p, err
	})
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
