package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/filelock"
)

const chromium = "/usr/bin/chromium"

// tools is what the browser tests stand on; an error says in one line what is missing.
func tools(t *testing.T) (modules string, err error) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		return "", errors.New("node is not installed")
	}
	if err := browser(t); err != nil {
		return "", err
	}
	return nodeModules(t)
}

// browser installs Debian's Chromium where it is missing and this process may.
func browser(t *testing.T) error {
	t.Helper()
	if _, err := os.Stat(chromium); err == nil {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("%s is missing, and only root on Debian can install it here (apt-get install chromium)", chromium)
	}
	t.Log("installing Chromium from Debian, once")
	for _, args := range [][]string{{"update", "-qq"}, {"install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-noto-color-emoji"}} {
		if err := command(t, 10*time.Minute, "", "apt-get", args...); err != nil {
			return fmt.Errorf("Chromium could not be installed: %w", err)
		}
	}
	return nil
}

// nodeModules installs what package-lock.json pins into the cache folder, once for each lock.
func nodeModules(t *testing.T) (string, error) {
	t.Helper()
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	dir := filepath.Join(cacheDir(), "console-tests-"+hex.EncodeToString(sum[:6]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	unlock, err := filelock.Wait(t.Context(), filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	done := filepath.Join(dir, "installed")
	if _, err := os.Stat(done); err == nil {
		return dir, nil
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return "", err
		}
	}
	if err := command(t, 5*time.Minute, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		return "", fmt.Errorf("playwright-core and axe-core could not be installed: %w", err)
	}
	return dir, os.WriteFile(done, nil, 0o600)
}

func cacheDir() string {
	if dir := os.Getenv("WEIR_CACHE_DIR"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "weir")
}

func command(t *testing.T, patience time.Duration, dir, name string, args ...string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}
