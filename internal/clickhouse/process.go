package clickhouse

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/creack/pty"

	"weir/internal/child"
)

// readyTimeout bounds one start: a data folder after a crash is loaded within it.
const readyTimeout = 60 * time.Second

// process is one run of the engine.
type process struct {
	*child.Process
	terminal io.Closer // its standard input; the engine ends when this is closed
	output   *output
}

func startProcess(engine Engine, args []string) (*process, error) {
	cmd, err := command(engine, args)
	if err != nil {
		return nil, err
	}
	ours, its, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("making a terminal for ClickHouse: %w; mount /dev/pts, or %s", err, whatToInstall)
	}
	defer its.Close()
	p := &process{output: &output{}, terminal: ours}
	cmd.Stdin, cmd.Stderr = its, p.output // its output is a session's greetings and prompts
	if p.Process, err = child.Start(cmd); err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("starting ClickHouse (%s): %w", engine, err)
	}
	return p, nil
}

func command(engine Engine, args []string) (*exec.Cmd, error) {
	if engine.Program != "" {
		cmd := exec.Command(engine.Program, append([]string{"local"}, args...)...) //nolint:gosec // the operator's choice of program
		cmd.Env = environment(os.Environ())
		return cmd, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding our own program, to run it as the ClickHouse child: %w", err)
	}
	cmd := exec.Command(self, args...) //nolint:gosec // our own program
	cmd.Env = append(environment(os.Environ()), childEnv+"="+engine.Library)
	return cmd, nil
}

// environment leaves out our own settings, secrets among them: an engine that can be made to read a
// file could read /proc/self/environ.
func environment(parent []string) []string {
	return slices.DeleteFunc(slices.Clone(parent), func(setting string) bool { return strings.HasPrefix(setting, "WEIR_") })
}

// failure says how an ended process ended.
func (p *process) failure() error {
	how := "it ended by itself"
	if err := p.Err(); err != nil {
		how = err.Error()
	}
	if text := p.output.String(); text != "" {
		return fmt.Errorf("ClickHouse ended: %s: %s", how, text)
	}
	return fmt.Errorf("ClickHouse ended: %s", how)
}

// end lets the process finish in order, or kills it after the grace or when the context ends; at
// once when the grace is 0.
func (p *process) end(ctx context.Context, grace time.Duration) {
	if grace == 0 {
		p.Kill()
		return
	}
	_ = p.terminal.Close()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.Ended():
		return
	case <-ctx.Done():
	case <-timer.C:
	}
	p.Kill()
}

// ready waits until the process answers a query over the native protocol with its own token: a
// port says nothing, as another process may have taken it.
func (p *process) ready(ctx context.Context, at Access, token string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	go func() { // another server on our port may leave a probe without an answer
		select {
		case <-p.Ended():
			cancel()
		case <-ctx.Done():
		}
	}()
	var last error
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		if last = probe(ctx, at, token); last == nil {
			return nil
		}
		if text := p.output.String(); strings.Contains(text, "Exception") { // a session goes on after an error
			return fmt.Errorf("ClickHouse does not listen on %s: %s", at.Addr, text)
		}
		if err := pause(ctx, wait); err != nil {
			select {
			case <-p.Ended():
				return p.failure()
			default:
			}
			return fmt.Errorf("ClickHouse did not answer on %s: %w (%w)", at.Addr, last, err)
		}
	}
}

// probe asks the server for its token, over a connection of its own.
func probe(ctx context.Context, at Access, token string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := clickhouse.Open(&clickhouse.Options{Addr: []string{at.Addr}, Auth: at.Auth("default"), DialTimeout: time.Second, MaxOpenConns: 1})
	if err != nil {
		return err
	}
	defer conn.Close()
	var got string
	if err := conn.QueryRow(ctx, "select getMacro('"+tokenMacro+"')").Scan(&got); err != nil {
		return err
	}
	if got != token {
		return fmt.Errorf("another server answers on %s", at.Addr)
	}
	return nil
}

// pause waits for d or for the end of the context.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
