package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
)

// Engine is a ClickHouse that can be started: a program or a shared library, never both.
type Engine struct {
	Program string // path of a clickhouse program
	Library string // path of the engine's shared library
}

// String names the engine for logs.
func (e Engine) String() string {
	if e.Program != "" {
		return "program " + e.Program
	}
	return "library " + e.Library
}

// FindConfig says where to look for the engine.
type FindConfig struct {
	// Program is the path of a clickhouse program; empty looks on PATH, then in the cache.
	Program string
	// CacheDir keeps the fetched library, shared by every process of the user.
	CacheDir string
	// Progress shows a fetch: a bar on a terminal, lines elsewhere; nil shows nothing.
	Progress io.Writer
	// Logger may be nil.
	Logger *slog.Logger
}

// whatToInstall ends every error that says there is no engine.
const whatToInstall = "install ClickHouse so that `clickhouse` is on PATH, or set WEIR_CLICKHOUSE_ADDR to the address of a running server"

// Find returns the engine to run: the given program, else `clickhouse` on PATH, else the shared
// library in the cache, which it fetches when it is not there. Fetching takes 180 MB and some
// seconds to minutes; it may be called by many processes at once, and one of them fetches.
// Errors say what to install; nothing is retried.
func Find(ctx context.Context, cfg FindConfig) (Engine, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Program != "" {
		path, err := exec.LookPath(cfg.Program)
		if err != nil {
			return Engine{}, fmt.Errorf("the ClickHouse program %s can't be run: %w; correct the path, or %s", cfg.Program, err, whatToInstall)
		}
		return Engine{Program: path}, nil
	}
	if path, err := exec.LookPath("clickhouse"); err == nil {
		return Engine{Program: path}, nil
	}
	pkg, err := platformPackage()
	if err != nil {
		return Engine{}, err
	}
	library := pkg.libraryPath(cfg.CacheDir)
	switch info, err := os.Stat(library); {
	case err == nil && info.Size() == pkg.LibrarySize:
		return Engine{Library: library}, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return Engine{}, fmt.Errorf("the ClickHouse engine in the cache can't be read: %w; set WEIR_CACHE_DIR to a folder you may write to", err)
	}
	if err := fetch(ctx, pkg, cfg); err != nil {
		return Engine{}, err
	}
	return Engine{Library: library}, nil
}
