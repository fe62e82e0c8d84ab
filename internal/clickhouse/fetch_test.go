package clickhouse

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// fakeNPM puts an `npm` on PATH that runs the given shell lines, with $dest for the folder the
// tarball belongs in, and writes a line to the returned file for each call.
func fakeNPM(t *testing.T, script string) (calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	text := "#!/bin/sh\necho \"$@\" >> " + calls + "\n" +
		`while [ $# -gt 0 ]; do [ "$1" = --pack-destination ] && dest=$2; shift; done` + "\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	return calls
}

// tarball writes a package with the library's content and returns its path and description.
func tarball(t *testing.T, content string) (string, npmPackage) {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	for _, entry := range []struct{ name, content string }{{"package/index.js", "no"}, {"package/libchdb.so", content}} {
		if err := archive.WriteHeader(&tar.Header{Name: entry.name, Mode: 0o644, Size: int64(len(entry.content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(archive, entry.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "p.tgz")
	if err := os.WriteFile(file, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512(packed.Bytes())
	return file, npmPackage{
		Name: "some/package", Version: "1", TarballSize: int64(packed.Len()),
		Integrity: "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
		Library:   "libchdb.so", LibrarySize: int64(len(content)),
	}
}

func fetchConfig(t *testing.T, progress io.Writer) FindConfig {
	return FindConfig{CacheDir: filepath.Join(t.TempDir(), "cache"), Progress: progress, Logger: slog.New(slog.DiscardHandler)}
}

func TestFetch(t *testing.T) {
	file, pkg := tarball(t, "the library")
	calls := fakeNPM(t, "cp "+file+" $dest/p.tgz")
	var progress bytes.Buffer
	cfg := fetchConfig(t, &progress)
	if err := fetch(t.Context(), pkg, cfg); err != nil {
		t.Fatal(err)
	}
	library := pkg.libraryPath(cfg.CacheDir)
	if got, err := os.ReadFile(library); err != nil || string(got) != "the library" {
		t.Errorf("fetched %q, %v", got, err)
	}
	if !strings.Contains(progress.String(), "unpacking the ClickHouse engine: done") {
		t.Errorf("progress is %q", progress.String())
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(library), stagingPrefix+"*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if got, _ := os.ReadFile(calls); !strings.HasPrefix(string(got), "pack some/package@1 ") {
		t.Errorf("npm was called with %q", got)
	}
}

// Of several that need the engine at once, one fetches it.
func TestFetchOnce(t *testing.T) {
	file, pkg := tarball(t, "the library")
	calls := fakeNPM(t, "cp "+file+" $dest/p.tgz")
	cfg := fetchConfig(t, nil)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := fetch(context.Background(), pkg, cfg); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, _ := os.ReadFile(calls); bytes.Count(got, []byte("\n")) != 1 {
		t.Errorf("npm was called %d times, expected once", bytes.Count(got, []byte("\n")))
	}
}

// What goes wrong is said together with what to do, and leaves nothing that looks like an engine.
func TestFetchErrors(t *testing.T) {
	file, good := tarball(t, "the library")
	other, _ := tarball(t, "another library")
	shorter := good
	shorter.LibrarySize--
	for _, test := range []struct {
		name, script string
		pkg          npmPackage
		want         string
	}{
		{"npm fails", "echo no network >&2; exit 1", good, "no network"},
		{"no tarball", "true", good, "left 0 tarballs"},
		{"checksum", "cp " + other + " $dest/p.tgz", good, "is not the one expected"},
		{"size", "cp " + file + " $dest/p.tgz", shorter, "unpacked to 11 bytes, expected 10"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fakeNPM(t, test.script)
			cfg := fetchConfig(t, nil)
			err := fetch(t.Context(), test.pkg, cfg)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v; expected %q", err, test.want)
			}
			if _, err := os.Stat(test.pkg.libraryPath(cfg.CacheDir)); err == nil {
				t.Error("a library is in the cache")
			}
		})
	}
}

func TestFetchWithoutNPM(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, pkg := tarball(t, "the library")
	err := fetch(t.Context(), pkg, fetchConfig(t, nil))
	if err == nil || !strings.Contains(err.Error(), "install npm") || !strings.Contains(err.Error(), "WEIR_CLICKHOUSE_ADDR") {
		t.Fatalf("error %v; expected what to install", err)
	}
}

func TestCacheNotWritable(t *testing.T) {
	fakeNPM(t, "true")
	file, pkg := tarball(t, "the library")
	cfg := fetchConfig(t, nil)
	cfg.CacheDir = file // a file where a folder should be
	err := fetch(t.Context(), pkg, cfg)
	if err == nil || !strings.Contains(err.Error(), "WEIR_CACHE_DIR") {
		t.Fatalf("error %v; expected one that names WEIR_CACHE_DIR", err)
	}
}

// Every pinned package is complete.
func TestPackages(t *testing.T) {
	for platform, pkg := range packages {
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(pkg.Integrity, "sha512-"))
		if err != nil || len(sum) != sha512.Size || pkg.TarballSize == 0 || pkg.LibrarySize == 0 || pkg.Version == "" {
			t.Errorf("%s: %+v is incomplete", platform, pkg)
		}
	}
}

func TestProgressLine(t *testing.T) {
	meter := newMeter(nil, "fetching", 200e6)
	for _, test := range []struct {
		now  int64
		want string
	}{
		{0, "fetching: 0%, 0.0 MB of 200.0 MB, 0.0 MB/s, unknown left"},
		{50e6, "fetching: 25%, 50.0 MB of 200.0 MB, 25.0 MB/s, 6s left"},
	} {
		if got := meter.line(test.now, 2*time.Second); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestSettingsAreEscaped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.xml")
	if err := writeSettings(file, settings("/a & b/<c>", "token", 1)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(got), "<log>/a &amp; b/&lt;c&gt;/clickhouse.log</log>") {
		t.Errorf("settings are %s (%v)", got, err)
	}
}

// A fetch ends with its context, and the next one is not in its way.
func TestFetchCanceled(t *testing.T) {
	file, pkg := tarball(t, "the library")
	calls := fakeNPM(t, "exec sleep 60")
	cfg := fetchConfig(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := fetch(ctx, pkg, cfg); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v (npm calls in %s); expected the context's", err, calls)
	}
	fakeNPM(t, "cp "+file+" $dest/p.tgz")
	if err := fetch(t.Context(), pkg, cfg); err != nil {
		t.Fatal(err)
	}
}

func TestNoRoom(t *testing.T) {
	fakeNPM(t, "true")
	_, pkg := tarball(t, "the library")
	pkg.LibrarySize = 1 << 60
	err := fetch(t.Context(), pkg, fetchConfig(t, nil))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "WEIR_CACHE_DIR") {
		t.Fatalf("error %v; expected one that says how much room is needed", err)
	}
	t.Log(err)
}
