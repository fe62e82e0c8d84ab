package integration

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// complaint is a command that cannot do what it is asked: it says so on standard error, in words
// that name the cause and what to do, and ends with a code in bounded time.
type complaint struct {
	name string
	env  []string
	args []string
	code int
	says []string // all of it, in any order
	in   time.Duration
}

func TestBadInputToTheCommand(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() }) // not deferred: the parallel parts run later
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	running := serve(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("not JSON, and no folder\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := func() string { return t.TempDir() }
	local := func(data string, more ...string) []string {
		return append([]string{"serve", "--http", "127.0.0.1:0", "--data", data}, more...)
	}
	for _, c := range []complaint{
		{"data folder is a file", nil, local(file), 1, []string{file, "not a folder", "--data"}, 10 * time.Second},
		{"data folder below a file", nil, local(file + "/below"), 1, []string{file, "not a folder", "--data"}, 10 * time.Second},
		{"data folder read-only", nil, local(readOnly(t)), 1, []string{"cannot be", "--data"}, 10 * time.Second},
		{"data folder in use", nil, local(running.data), 1, []string{running.data, "in use", "stop that one", "--data"}, 10 * time.Second},
		{"port taken", nil, []string{"serve", "--data", fresh(), "--http", taken.Addr().String()}, 1, []string{taken.Addr().String(), "in use", "--http"}, 10 * time.Second},
		{"address that is none", nil, []string{"serve", "--data", fresh(), "--http", "nowhere"}, 2, []string{"nowhere", "--http", "host:port"}, 10 * time.Second},
		{"broker unreachable", []string{"WEIR_KAFKA_BROKERS=" + closed.Addr().String()}, local(fresh()), 1, []string{closed.Addr().String(), "WEIR_KAFKA_BROKERS"}, 50 * time.Second},
		{"engine not to be had", []string{"PATH=/nonexistent", "WEIR_CACHE_DIR=" + fresh(), "WEIR_CLICKHOUSE_PROGRAM="}, local(fresh()), 1, []string{"clickhouse", "npm", "PATH"}, 20 * time.Second},
		{"engine program that is none", nil, local(fresh(), "--clickhouse-program", file), 1, []string{file}, 20 * time.Second},
		{"master key too short", []string{"WEIR_MASTER_KEY=short"}, local(fresh()), 1, []string{"WEIR_MASTER_KEY", "32"}, 10 * time.Second},
		{"unknown flag", nil, []string{"serve", "--port", "80"}, 2, []string{"--port", "weir serve --help"}, 5 * time.Second},
		{"unknown verb", nil, []string{"sreve"}, 2, []string{"sreve", "weir --help"}, 5 * time.Second},
		{"no verb", nil, nil, 2, []string{"weir --help"}, 5 * time.Second},
		{"unknown role", nil, local(fresh(), "--roles", "ingest,sing"), 2, []string{"sing", `"ingest","project","read"`}, 5 * time.Second},
		{"roles that cannot work", nil, local(fresh(), "--roles", "read"), 2, []string{"WEIR_KAFKA_BROKERS"}, 5 * time.Second},
		{"limit that is no number", []string{"INGEST_RATE_LIMIT_EVENTS_PER_SECOND=many"}, local(fresh()), 2, []string{"INGEST_RATE_LIMIT_EVENTS_PER_SECOND"}, 5 * time.Second},
		{"limit below zero", []string{"INGEST_RATE_LIMIT_EVENTS_PER_SECOND=-1"}, local(fresh()), 2, []string{"INGEST_RATE_LIMIT_EVENTS_PER_SECOND", "0"}, 5 * time.Second},
		{"project without a server", nil, []string{"project", "create", "x", "--data", running.data, "--server", "http://" + closed.Addr().String()}, 1, []string{"weir serve", "--server"}, 10 * time.Second},
		{"project without a token", nil, []string{"project", "create", "x", "--data", fresh(), "--server", running.base()}, 1, []string{"admin token", "--data"}, 10 * time.Second},
		{"project without a name", nil, []string{"project", "create"}, 2, []string{"name", "weir project --help"}, 5 * time.Second},
		{"key of no project", nil, []string{"key", "create", "--project", "prj_none", "--data", running.data, "--server", running.base()}, 1, []string{"404", "project"}, 10 * time.Second},
		{"scope that is none", nil, []string{"key", "create", "--project", "p", "--scopes", "everything"}, 2, []string{"everything", "ingest"}, 5 * time.Second},
		{"send without a key", nil, []string{"send", file}, 2, []string{"--key", "--secret", "weir send --help"}, 5 * time.Second},
		{"send no such file", nil, []string{"send", file + ".gone", "--key", "k", "--secret", "s", "--server", running.base()}, 1, []string{file + ".gone"}, 10 * time.Second},
		{"send with a wrong key", nil, []string{"send", file, "--key", "k", "--secret", "s", "--server", running.base()}, 1, []string{"401"}, 10 * time.Second},
		{"send to nobody", nil, []string{"send", file, "--key", "k", "--secret", "s", "--patience", "2s", "--server", "http://" + closed.Addr().String()}, 1, []string{"nothing listens", "weir serve"}, 15 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t)
		})
	}
}

func (c complaint) check(t *testing.T) {
	t.Helper()
	cmd := exec.Command(binary(t), c.args...)
	cmd.Env = environment(c.env...)
	o := finish(t, cmd, c.in+10*time.Second)
	said := "weir " + strings.Join(c.args, " ") + "\n" + o.stderr
	if o.code != c.code {
		t.Errorf("exit code %d, expected %d, of %s", o.code, c.code, said)
	}
	if o.took > c.in {
		t.Errorf("it took %v, expected at most %v, of %s", o.took.Round(time.Millisecond), c.in, said)
	}
	if o.stdout != "" && c.args[0] != "send" { // its summary, of what was sent until then, is a result
		t.Errorf("an error belongs on standard error; standard output has %s", o.stdout)
	}
	complaint := lastLines(o.stderr)
	for _, words := range c.says {
		if !strings.Contains(strings.ToLower(complaint), strings.ToLower(words)) {
			t.Errorf("the error does not say %q: %s", words, said)
		}
	}
	if strings.Contains(o.stderr, "goroutine ") {
		t.Errorf("a stack trace is no error text: %s", said)
	}
}

// lastLines is the error itself: what stands after the log, from "weir: " on.
func lastLines(stderr string) string {
	if i := strings.LastIndex("\n"+stderr, "\nweir: "); i >= 0 {
		return stderr[i:]
	}
	return ""
}

// readOnly is a folder that even root cannot write to, where there is one.
func readOnly(t *testing.T) string {
	t.Helper()
	if os.Getuid() == 0 {
		return "/proc/weir"
	}
	dir := filepath.Join(t.TempDir(), "locked")
	if err := os.Mkdir(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "data")
}
