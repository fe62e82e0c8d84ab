package clickhouse_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/clickhouse"
	"weir/internal/clickhouse/chtest"
)

// parentEnv makes the test binary a parent that starts a server in the folder named, prints its
// child's process id and waits to be killed.
const parentEnv = "WEIR_TEST_CLICKHOUSE_PARENT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentEnv); dir != "" {
		parent(dir)
	}
	os.Exit(chtest.Main(m))
}

func parent(dir string) {
	cache, err := chtest.CacheDir()
	if err != nil {
		panic(err)
	}
	server, err := clickhouse.Start(context.Background(), clickhouse.Config{DataDir: dir, CacheDir: cache})
	if err != nil {
		panic(err)
	}
	fmt.Println(server.PID())
	select {}
}

func start(t *testing.T, cfg clickhouse.Config) *clickhouse.Server {
	t.Helper()
	server, err := clickhouse.Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return server
}

// killAndWait kills the child and returns when another answers on the same port.
func killAndWait(t *testing.T, server *clickhouse.Server) {
	t.Helper()
	before := server.PID()
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	within(t, 30*time.Second, "a new child answers", func() bool { return server.PID() != before })
}

// within polls for a state of another process, which sends no signal of its own.
func within(t *testing.T, limit time.Duration, what string, reached func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !reached() {
		select {
		case <-deadline:
			t.Fatalf("not within %s: %s", limit, what)
		case <-tick.C:
		}
	}
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// Close ends the child within ten seconds although a client is connected.
func TestCloseWithOpenConnections(t *testing.T) {
	server := start(t, chtest.Config(t, t.TempDir()))
	conn := connect(t, server)
	exec(t, conn, "select 1")
	pid, began := server.PID(), time.Now()
	if err := server.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("Close took %s", took)
	} else {
		t.Logf("Close took %s", took)
	}
	if alive(pid) {
		t.Errorf("the child %d outlived Close", pid)
	}
	if server.Err() != nil {
		t.Errorf("Err after Close: %v", server.Err())
	}
}

// A second server on the same folder is refused with a reason.
func TestFolderInUse(t *testing.T) {
	dir := t.TempDir()
	start(t, chtest.Config(t, dir))
	_, err := clickhouse.Start(t.Context(), chtest.Config(t, dir))
	if err == nil || !strings.Contains(err.Error(), "in use by another running weir") {
		t.Fatalf("error %v; expected one that says the folder is in use", err)
	}
}

// When the parent is killed the child ends, and the next parent finds its data.
func TestParentKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for range 2 {
		cmd := osexec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), parentEnv+"="+dir)
		cmd.Stderr = os.Stderr
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(stdout).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		child, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || !alive(child) {
			t.Fatalf("the parent printed %q, expected the id of a living child (%v)", line, err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		within(t, 10*time.Second, "the child ends with its parent", func() bool { return !alive(child) })
	}
	server := start(t, chtest.Config(t, dir))
	exec(t, connect(t, server), "select 1")
}

func TestUnusableDataFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := clickhouse.Start(t.Context(), chtest.Config(t, filepath.Join(file, "data")))
	if err == nil || !strings.Contains(err.Error(), "--data or WEIR_DATA_DIR") {
		t.Fatalf("error %v; expected one that says to use another data folder", err)
	}
}

// A start whose context ends leaves nothing running and the folder free.
func TestStartCanceled(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := clickhouse.Start(ctx, chtest.Config(t, dir))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v; expected the context's", err)
	}
	start(t, chtest.Config(t, dir))
}

// A program that ends at once makes the start fail, with what it printed.
func TestProgramThatFails(t *testing.T) {
	program := filepath.Join(t.TempDir(), "clickhouse")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho no luck today >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cfg := chtest.Config(t, t.TempDir())
	cfg.Program = program
	_, err := clickhouse.Start(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "no luck today") {
		t.Fatalf("error %v; expected what the program printed", err)
	}
}

// A port that was taken between picking and binding costs another try, and the server of the
// taker is not mistaken for ours.
func TestPortTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	server, err := clickhouse.StartOnTakenPort(t.Context(), chtest.Config(t, t.TempDir()), taken)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close(context.Background()) })
	if server.NativeAddr() == taken.Addr().String() {
		t.Errorf("the server claims the taken address %s", server.NativeAddr())
	}
	exec(t, connect(t, server), "select 1")
}

// A library that can't be loaded is said to be so, with what to do.
func TestDamagedLibrary(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no clickhouse program
	cfg := chtest.Config(t, t.TempDir())
	cfg.CacheDir = t.TempDir()
	if err := clickhouse.FakeLibrary(cfg.CacheDir); err != nil {
		t.Fatal(err)
	}
	_, err := clickhouse.Start(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "can't be loaded") {
		t.Fatalf("error %v; expected one that says the library can't be loaded", err)
	}
	t.Log(err)
}

// A clickhouse program does as well as the library; when it can't be started any more the server
// says so and is gone, and its folder is free.
func TestProgramUntilHopeless(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	cfg := chtest.Config(t, dir)
	program, err := clickhouse.ProgramFromLibrary(bin, cfg.CacheDir)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Program = program
	server, err := clickhouse.StartWithTries(t.Context(), cfg, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close(context.Background()) })
	if got := server.Engine().Program; got != program {
		t.Errorf("the engine is %q, expected the program %s", got, program)
	}
	exec(t, connect(t, server), "select 1")
	if err := server.Err(); err != nil {
		t.Errorf("Err of a running server: %v", err)
	}
	if filepath.Dir(program) != bin {
		return // a real program, which we can't break
	}
	if err := os.WriteFile(filepath.Join(bin, "broken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(server.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-server.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the server has not given up")
	}
	if err := server.Err(); err == nil || !strings.Contains(err.Error(), "could not be restarted after 2 tries") {
		t.Errorf("Err is %v; expected that it could not be restarted", err)
	}
	cfg.Program = ""
	start(t, cfg)
}
