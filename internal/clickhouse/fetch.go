package clickhouse

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"syscall"
	"time"

	"weir/internal/child"
	"weir/internal/diskspace"
	"weir/internal/filelock"
)

// fetchTimeout bounds one download; at 178 MB it allows for 100 kB/s.
const fetchTimeout = 30 * time.Minute

// fetch brings the package's library into the cache. The file lock makes a second process wait
// and then find the first one's work; the final rename makes a half-fetched library impossible.
func fetch(ctx context.Context, pkg npmPackage, cfg FindConfig) error {
	library := pkg.libraryPath(cfg.CacheDir)
	dir := filepath.Dir(library)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return cacheError(err)
	}
	unlock, err := filelock.Wait(ctx, filepath.Join(dir, "fetch.lock"))
	if err != nil {
		return cacheError(err)
	}
	defer unlock()
	if info, err := os.Stat(library); err == nil && info.Size() == pkg.LibrarySize {
		return nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("there is no `clickhouse` and no `npm` on PATH to fetch %s with: install npm, or %s", pkg.Name, whatToInstall)
	}
	if err := roomFor(dir, pkg); err != nil {
		return err
	}
	removeStaging(dir) // what a killed fetch left behind; we hold the lock
	staging, err := os.MkdirTemp(dir, stagingPrefix)
	if err != nil {
		return cacheError(err)
	}
	defer os.RemoveAll(staging)

	cfg.Logger.Info("fetching the ClickHouse engine", "package", pkg.Name+"@"+pkg.Version, "bytes", pkg.TarballSize, "to", dir)
	tarball, err := download(ctx, npm, pkg, staging, cfg.Progress)
	if err != nil {
		return err
	}
	if err := verify(tarball, pkg); err != nil {
		return err
	}
	_ = os.RemoveAll(filepath.Join(staging, npmCacheName)) // a second copy of the tarball
	unpacked := filepath.Join(staging, pkg.Library)
	if err := unpack(ctx, tarball, unpacked, pkg, cfg.Progress); err != nil {
		return err
	}
	if err := os.Rename(unpacked, library); err != nil {
		return cacheError(err)
	}
	return nil
}

// roomFor refuses a fetch that would fill the disk: at its end the tarball and the library are
// there, at its middle the tarball and npm's own copy.
func roomFor(dir string, pkg npmPackage) error {
	free, err := diskspace.Free(dir)
	if err != nil {
		return nil //nolint:nilerr // some file systems do not say; writing will
	}
	if need := pkg.TarballSize + pkg.LibrarySize; free < need {
		return cacheError(fmt.Errorf("%s has %s free, %s are needed: %w", dir, megabytes(free), megabytes(need), syscall.ENOSPC))
	}
	return nil
}

const (
	stagingPrefix = "staging-"
	npmCacheName  = "npm-cache"
)

func removeStaging(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, stagingPrefix+"*"))
	for _, folder := range left {
		_ = os.RemoveAll(folder)
	}
}

// download runs the ordinary npm client, with whatever registry, proxy and login the user has
// configured, and a cache of its own whose growth is the progress.
func download(ctx context.Context, npm string, pkg npmPackage, staging string, progress io.Writer) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	var output bytes.Buffer
	npmCache := filepath.Join(staging, npmCacheName)
	cmd := exec.Command(npm, "pack", pkg.Name+"@"+pkg.Version, //nolint:gosec // npm as found on PATH, a pinned package
		"--pack-destination", staging, "--cache", npmCache,
		"--ignore-scripts", "--no-update-notifier", "--loglevel", "error")
	cmd.Dir = staging // no project's package.json or .npmrc takes part
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = 5 * time.Second

	meter := newMeter(progress, "fetching the ClickHouse engine", pkg.TarballSize)
	stop := meter.follow(func() int64 { return folderSize(npmCache) })
	err := runChild(ctx, cmd)
	stop(err == nil)
	if err != nil {
		return "", fmt.Errorf("npm could not fetch %s@%s: %w\n%s\ncheck the network and npm's registry setting and start again, or %s",
			pkg.Name, pkg.Version, err, lastLines(output.Bytes(), 2000), whatToInstall)
	}
	found, _ := filepath.Glob(filepath.Join(staging, "*.tgz"))
	if len(found) != 1 {
		return "", fmt.Errorf("npm pack %s@%s left %d tarballs in %s, expected one; update npm, or %s", pkg.Name, pkg.Version, len(found), staging, whatToInstall)
	}
	return found[0], nil
}

// runChild runs a command that ends with the context and with this process.
func runChild(ctx context.Context, cmd *exec.Cmd) error {
	p, err := child.Start(cmd)
	if err != nil {
		return err
	}
	select {
	case <-p.Ended():
		return p.Err()
	case <-ctx.Done():
		p.Kill()
		return ctx.Err()
	}
}

// verify checks the tarball against the pinned size and SHA-512.
func verify(tarball string, pkg npmPackage) error {
	f, err := os.Open(tarball)
	if err != nil {
		return cacheError(err)
	}
	defer f.Close()
	hash := sha512.New()
	size, err := io.Copy(hash, f)
	if err != nil {
		return cacheError(err)
	}
	got := "sha512-" + base64.StdEncoding.EncodeToString(hash.Sum(nil))
	if size != pkg.TarballSize || got != pkg.Integrity {
		return fmt.Errorf("the fetched %s@%s is not the one expected (%d bytes, %s; expected %d bytes, %s) and was thrown away: "+
			"start again, and if it stays so, ask whoever runs your npm registry or proxy, or %s",
			pkg.Name, pkg.Version, size, got, pkg.TarballSize, pkg.Integrity, whatToInstall)
	}
	return nil
}

// unpack writes the tarball's library to target and syncs it.
func unpack(ctx context.Context, tarball, target string, pkg npmPackage, progress io.Writer) error {
	f, err := os.Open(tarball)
	if err != nil {
		return cacheError(err)
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s is no gzip file: %w", tarball, err)
	}
	for archive := tar.NewReader(zipped); ; {
		entry, err := archive.Next()
		if err != nil {
			return fmt.Errorf("%s holds no %s: %w", tarball, pkg.Library, err)
		}
		if path.Base(entry.Name) == pkg.Library {
			return writeLibrary(ctx, archive, target, pkg, progress)
		}
	}
}

func writeLibrary(ctx context.Context, from io.Reader, target string, pkg npmPackage, progress io.Writer) error {
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return cacheError(err)
	}
	defer out.Close()
	meter := newMeter(progress, "unpacking the ClickHouse engine", pkg.LibrarySize)
	counted := &countingReader{ctx: ctx, from: from}
	stop := meter.follow(counted.count.Load)
	size, err := io.Copy(out, counted)
	if err == nil {
		err = out.Sync()
	}
	stop(err == nil)
	switch {
	case err != nil:
		return cacheError(err)
	case size != pkg.LibrarySize:
		return fmt.Errorf("%s unpacked to %d bytes, expected %d", pkg.Library, size, pkg.LibrarySize)
	}
	return nil
}

// cacheError says what to do about a cache folder that does not work.
func cacheError(err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("no room for the ClickHouse engine (750 MB while it is fetched, 570 MB afterwards): %w; free some, or set WEIR_CACHE_DIR to a folder on another disk", err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("the cache folder can't be written to: %w; set WEIR_CACHE_DIR to a folder you may write to", err)
	}
	return fmt.Errorf("keeping the ClickHouse engine in the cache: %w", err)
}
