package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/internal/child"
)

const (
	startPatience = 60 * time.Second // an engine left behind may take seconds to end, and the machine may be busy
	stopPatience  = 10 * time.Second // what `weir serve` promises
)

// server is a place where the binary runs: a data folder, settings, and one process at a time.
// Started again it has another address; clients ask for it at each try.
type server struct {
	t    testing.TB
	name string
	data string
	env  []string
	args []string

	url atomic.Pointer[string]
	mu  sync.Mutex
	run *run
}

// run is one process.
type run struct {
	process *child.Process
	out     *transcript
}

// newServer prepares a place; env are settings like "WEIR_LOG_LEVEL=debug".
func newServer(t testing.TB, name string, env ...string) *server {
	t.Helper()
	s := &server{t: t, name: name, data: t.TempDir(), env: env}
	nowhere := "http://127.0.0.1:1"
	s.url.Store(&nowhere)
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("what %s said last:\n%s", s.name, s.said())
		}
	})
	return s
}

// serve starts a server on embedded engines and waits until it is ready.
func serve(t testing.TB, env ...string) *server {
	t.Helper()
	s := newServer(t, "weir", env...)
	s.start()
	return s
}

// unlimited turns the rate limits off, for scenarios that are about something else.
var unlimited = []string{"INGEST_RATE_LIMIT_EVENTS_PER_SECOND=0", "INGEST_RATE_LIMIT_BATCHES_PER_SECOND=0"}

// environment is this process's own without any setting of Weir's, but for where engines are found.
func environment(settings ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		ours := strings.HasPrefix(v, "WEIR_") || strings.HasPrefix(v, "INGEST_")
		if !ours || strings.HasPrefix(v, "WEIR_CACHE_DIR=") || strings.HasPrefix(v, "WEIR_CLICKHOUSE_PROGRAM=") {
			env = append(env, v)
		}
	}
	return append(env, settings...)
}

// launch starts the process and does not wait for anything.
func (s *server) launch() *run {
	s.t.Helper()
	out := &transcript{serving: make(chan string, 1)}
	cmd := exec.Command(binary(s.t), append([]string{"serve", "--data", s.data, "--http", "127.0.0.1:0"}, s.args...)...)
	cmd.Env = environment(s.env...)
	cmd.Stdout, cmd.Stderr = out, out
	process, err := child.Start(cmd)
	if err != nil {
		s.t.Fatalf("starting %s: %v", s.name, err)
	}
	r := &run{process: process, out: out}
	s.mu.Lock()
	s.run = r
	s.mu.Unlock()
	return r
}

func (s *server) start() {
	s.t.Helper()
	if err := s.up(s.launch()); err != nil {
		s.t.Fatal(err)
	}
}

// up waits until a launched process is ready, and lets clients know its address.
func (s *server) up(r *run) error {
	patience := time.NewTimer(startPatience)
	defer patience.Stop()
	select {
	case url := <-r.out.serving:
		s.url.Store(&url)
	case <-r.process.Ended():
		return fmt.Errorf("%s ended while it was starting: %v\n%s", s.name, r.process.Err(), r.out.end())
	case <-patience.C:
		return fmt.Errorf("%s does not serve within %v\n%s", s.name, startPatience, r.out.end())
	}
	return until(startPatience, func() error {
		a, err := get(s.base(), "", "/readyz", nil)
		if err == nil && a.status != http.StatusOK {
			err = fmt.Errorf("%s is not ready: %s", s.name, a)
		}
		return err
	})
}

// base is the address of the process that was ready last.
func (s *server) base() string { return *s.url.Load() }

func (s *server) current() *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// kill ends the process with SIGKILL, if there is one.
func (s *server) kill() {
	if r := s.current(); r != nil {
		r.process.Kill()
	}
}

func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(s.current().process.PID(), sig); err != nil {
		s.t.Fatalf("sending %v to %s: %v", sig, s.name, err)
	}
}

// stop asks the process to end and waits: it must end in time, with exit code 0.
func (s *server) stop(sig syscall.Signal) {
	s.t.Helper()
	began := time.Now()
	s.signal(sig)
	s.ended(sig, began)
}

func (s *server) ended(sig syscall.Signal, since time.Time) {
	s.t.Helper()
	r := s.current()
	patience := time.NewTimer(stopPatience + 2*time.Second) // the promise, and a busy machine
	defer patience.Stop()
	select {
	case <-r.process.Ended():
	case <-patience.C:
		s.t.Fatalf("%s has not ended %v after %v", s.name, time.Since(since).Round(time.Millisecond), sig)
	}
	if err := r.process.Err(); err != nil {
		s.t.Errorf("%s ended with %v after %v, expected exit code 0", s.name, err, sig)
	}
	s.t.Logf("%s ended %v after %v", s.name, time.Since(since).Round(time.Millisecond), sig)
}

func (s *server) said() string {
	if r := s.current(); r != nil {
		return r.out.end()
	}
	return "(it was never started)"
}

// transcript keeps what a process printed and finds the address in it.
type transcript struct {
	mu      sync.Mutex
	text    []byte
	found   bool
	serving chan string // gets the address, once
}

var servingLine = regexp.MustCompile(`msg=serving http=(http://\S+)`)

func (o *transcript) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	if match := servingLine.FindSubmatch(o.text); match != nil && !o.found {
		o.found = true
		o.serving <- string(match[1])
	}
	return len(p), nil
}

func (o *transcript) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}

// end is the last of what was printed, enough to see what went wrong.
func (o *transcript) end() string {
	lines := strings.Split(strings.TrimSpace(o.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

// outcome is how a verb ended.
type outcome struct {
	code           int
	stdout, stderr string
	took           time.Duration
}

// weir runs a verb to its end with nothing but these settings in its environment.
func weir(t testing.TB, env []string, args ...string) outcome {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	cmd.Env = environment(env...)
	return finish(t, cmd, 2*time.Minute)
}

// finish runs a command and kills it with the test process, or when it takes too long.
func finish(t testing.TB, cmd *exec.Cmd, within time.Duration) outcome {
	t.Helper()
	var stdout, stderr transcript
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	process, err := child.Start(cmd)
	if err != nil {
		t.Fatalf("starting %v: %v", cmd.Args, err)
	}
	patience := time.NewTimer(within)
	defer patience.Stop()
	select {
	case <-process.Ended():
	case <-patience.C:
		process.Kill()
		t.Errorf("%v had not ended after %v:\n%s", cmd.Args, within, stderr.end())
	}
	o := outcome{stdout: stdout.String(), stderr: stderr.String(), took: time.Since(began)}
	var exit *exec.ExitError
	if err := process.Err(); errors.As(err, &exit) { // -1 after a signal
		o.code = exit.ExitCode()
	} else if err != nil {
		t.Fatalf("running %v: %v", cmd.Args, err)
	}
	return o
}

// admin runs a verb against the server, as somebody with its data folder, and reads its JSON.
func (s *server) admin(out any, args ...string) {
	s.t.Helper()
	args = append(args, "--server", s.base(), "--data", s.data, "--json")
	o := weir(s.t, s.env, args...)
	if o.code != 0 {
		s.t.Fatalf("weir %s: exit code %d: %s", strings.Join(args, " "), o.code, o.stderr)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal([]byte(o.stdout), out); err != nil {
		s.t.Fatalf("weir %s printed no JSON (%v): %s", strings.Join(args, " "), err, o.stdout)
	}
}

// project makes a project through the command.
func (s *server) project(name string) credentials {
	s.t.Helper()
	var made credentials
	s.admin(&made, "project", "create", name)
	if made.ProjectID == "" || made.APIKey == "" || made.WebhookSecret == "" {
		s.t.Fatalf("weir project create printed %+v", made)
	}
	return made
}

// diagnosis is what the scenarios need of `weir doctor --json`.
type diagnosis struct {
	Log        struct{ Brokers []string }
	ClickHouse struct{ Native, HTTP string }
}

func (s *server) doctor() diagnosis {
	s.t.Helper()
	var d diagnosis
	s.admin(&d, "doctor")
	return d
}
