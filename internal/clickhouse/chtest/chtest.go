// Package chtest gives tests a real ClickHouse: one server per test process, started at the first
// use, and a database of its own per test. WEIR_TEST_CLICKHOUSE_ADDR names a running server to
// use instead.
//
// Importing it is enough: the test binary is also what runs as the engine's child. A package
// with a TestMain ends it with os.Exit(chtest.Main(m)), which leaves nothing behind; without one
// the server ends with the process, and the next run removes its folder.
package chtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/internal/clickhouse"
	"weir/internal/filelock"
)

// memoryLimit of a test server in bytes: several packages are tested at once.
const memoryLimit = 1 << 30

const startTimeout = 20 * time.Minute // a first run fetches the engine

// AddrEnv names the variable with the address of a server to use instead of starting one.
const AddrEnv = "WEIR_TEST_CLICKHOUSE_ADDR"

func init() { clickhouse.RunChildIfAsked() }

var shared struct {
	sync.Mutex
	server *clickhouse.Server
	dir    string
	err    error // of the one start
}

// Access is how to get into the ClickHouse shared by the tests of this process. The test fails
// when there is none to be had.
func Access(t testing.TB) clickhouse.Access {
	t.Helper()
	if addr := os.Getenv(AddrEnv); addr != "" {
		return clickhouse.Access{Addr: addr}
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.dir, shared.err = startShared()
	}
	if shared.err != nil {
		t.Fatalf("no ClickHouse for tests: %v", shared.err)
	}
	return shared.server.Access()
}

// Database creates a database for this test alone, dropped when the test ends.
func Database(t testing.TB) (at clickhouse.Access, name string) {
	t.Helper()
	at = Access(t)
	name = "test_" + strings.ToLower(rand.Text())
	conn := connect(t, at, "default")
	defer conn.Close()
	if err := conn.Exec(context.Background(), "create database "+name+" engine Atomic"); err != nil {
		t.Fatalf("making a test database: %v", err)
	}
	t.Cleanup(func() { drop(t, at, name) })
	return at, name
}

// Open creates a database for this test alone and connects to it; both go when the test ends.
func Open(t testing.TB) driver.Conn {
	t.Helper()
	at, name := Database(t)
	conn := connect(t, at, name)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Main runs the tests and ends the shared server; its result is for os.Exit. A shared server that
// ended under its tests fails them: nothing a client does may end it.
func Main(m *testing.M) int {
	code := m.Run()
	if restarts := stopShared(); restarts > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: the shared ClickHouse ended and was started again, %d times\n", restarts)
		return max(code, 1)
	}
	return code
}

// Config is that of a server of the test's own, with its data in dir: for tests that kill it.
func Config(t testing.TB, dir string) clickhouse.Config {
	t.Helper()
	cache, err := CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return config(dir, cache)
}

// config lets tests make databases of any name; else they may do what Weir may.
func config(dir, cache string) clickhouse.Config {
	return clickhouse.Config{DataDir: dir, CacheDir: cache, Progress: os.Stderr, MemoryLimit: memoryLimit, Databases: []string{"*"}}
}

// CacheDir is where the engine is kept: the folder that weir itself uses.
func CacheDir() (string, error) {
	if dir := os.Getenv("WEIR_CACHE_DIR"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w; set WEIR_CACHE_DIR", err)
	}
	return filepath.Join(dir, "weir"), nil
}

func connect(t testing.TB, at clickhouse.Access, database string) driver.Conn {
	t.Helper()
	conn, err := ch.Open(&ch.Options{Addr: []string{at.Addr}, Auth: at.Auth(database)})
	if err != nil {
		t.Fatalf("connecting to ClickHouse: %v", err)
	}
	return conn
}

func drop(t testing.TB, at clickhouse.Access, name string) {
	conn := connect(t, at, "default")
	defer conn.Close()
	if err := conn.Exec(context.Background(), "drop database if exists "+name+" sync"); err != nil {
		t.Logf("dropping the test database %s: %v", name, err)
	}
}

const folderPrefix = "weir-chtest-"

func startShared() (*clickhouse.Server, string, error) {
	removeLeft()
	cache, err := CacheDir()
	if err != nil {
		return nil, "", err
	}
	dir, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	server, err := clickhouse.Start(ctx, config(dir, cache))
	if err != nil {
		return nil, "", errors.Join(err, os.RemoveAll(dir))
	}
	return server, dir, nil
}

// stopShared ends the shared server and says how often it had been started again.
func stopShared() int64 {
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		return 0
	}
	restarts := shared.server.Restarts()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	if shared.server.Close(ctx) == nil {
		_ = os.RemoveAll(shared.dir)
	}
	shared.server = nil
	return restarts
}

// removeLeft removes the folders of test processes that have ended without cleaning up: those
// whose lock nobody holds.
func removeLeft() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	for _, dir := range left {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < time.Minute {
			continue // perhaps just being made
		}
		if unlock, err := filelock.Try(filepath.Join(dir, "lock")); err == nil {
			_ = os.RemoveAll(dir)
			unlock()
		}
	}
}
