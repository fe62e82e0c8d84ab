package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"weir/control"
	"weir/eventlog"
	"weir/internal/child"
	"weir/internal/httpapi"
)

// benchStand is what a server under measurement needs: brokers and a project.
type benchStand struct {
	folder  string
	broker  *benchProcess // nil when brokers were given
	brokers []string
	master  string
	project control.NewProject
}

// startStand starts a broker in a process of its own unless brokers are given, and makes a project.
func startStand(ctx context.Context, brokers []string) (*benchStand, error) {
	folder, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return nil, err
	}
	s := &benchStand{folder: folder, brokers: brokers}
	if len(brokers) == 0 {
		s.broker, err = startBench(ctx, nil, "bench", "broker", "--data", filepath.Join(folder, "log"))
		if err != nil {
			s.close()
			return nil, fmt.Errorf("start the broker: %w", err)
		}
		s.brokers = []string{s.broker.said["addr"]}
	}
	if err := s.makeProject(ctx); err != nil {
		s.close()
		return nil, fmt.Errorf("make the project: %w", err)
	}
	return s, nil
}

func (s *benchStand) close() {
	if s.broker != nil {
		s.broker.end()
	}
	_ = os.RemoveAll(s.folder)
}

// makeProject writes to the control log itself: a gateway alone has no endpoint for it.
func (s *benchStand) makeProject(ctx context.Context) error {
	key := make([]byte, control.MasterKeyLen)
	_, _ = rand.Read(key)
	s.master = base64.StdEncoding.EncodeToString(key)
	master, err := control.ParseMasterKey(s.master)
	if err != nil {
		return err
	}
	keyring, err := control.NewKeyring(master)
	if err != nil {
		return err
	}
	quiet := slog.New(slog.DiscardHandler)
	log, err := eventlog.Open(ctx, eventlog.Config{Brokers: s.brokers, Logger: quiet})
	if err != nil {
		return err
	}
	defer func() { _ = log.Close(ctx) }()
	directory, err := control.NewDirectory(control.Config{Log: log, Keyring: keyring, Logger: quiet})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- directory.Run(running) }()
	defer func() { stop(); <-done }()
	select {
	case <-directory.Ready():
	case err := <-done:
		done <- err
		return err
	}
	s.project, err = control.NewCommands(directory).CreateProject(ctx, httpapi.Principal{Admin: true}, "bench")
	return err
}

// start starts a gateway, ours or the baseline, in a process of its own.
func (s *benchStand) start(ctx context.Context, subject, profile string) (*benchSubject, error) {
	brokers := strings.Join(s.brokers, ",")
	env := []string{"WEIR_KAFKA_BROKERS=" + brokers}
	args := []string{"bench", "gateway", "--roles", "ingest", "--http", "127.0.0.1:0", "--log-format", "json",
		"--data", filepath.Join(s.folder, "gateway"), "--events-per-second", "0", "--batches-per-second", "0"}
	if subject != subjectWeir {
		args = []string{"bench", "baseline"}
		if subject == subjectBare {
			args = append(args, "--bare")
		}
		env = append(env, "WEIR_API_KEY="+s.project.APIKey.Reveal(), "WEIR_WEBHOOK_SECRET="+s.project.WebhookSecret.Reveal())
	} else {
		env = append(env, "WEIR_MASTER_KEY="+s.master)
	}
	if profile != "" {
		args = append(args, "--cpuprofile", profile)
	}
	p, err := startBench(ctx, env, args...)
	if err != nil {
		return nil, fmt.Errorf("start the %s gateway: %w", subject, err)
	}
	return &benchSubject{
		name: subject, url: p.said["http"], pid: p.child.PID(), process: p,
		key: s.project.APIKey.Reveal(), secret: s.project.WebhookSecret.Reveal(),
	}, nil
}

// benchProcess is a verb of this program in a process of its own. Once ready it writes a JSON line
// with the message "serving" to standard error, as `weir serve` does.
type benchProcess struct {
	child *child.Process
	pid   int
	said  map[string]string // the text members of that line
	read  chan struct{}     // closed when its standard error has ended
}

const (
	benchStartTime = 30 * time.Second
	benchEndTime   = 10 * time.Second
)

func startBench(ctx context.Context, env []string, args ...string) (*benchProcess, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	errs, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, args...)
	cmd.Stderr = write
	cmd.Env = append(withoutWeir(os.Environ()), env...)
	started, err := child.Start(cmd)
	_ = write.Close()
	if err != nil {
		_ = errs.Close()
		return nil, err
	}
	p := &benchProcess{child: started, pid: started.PID(), read: make(chan struct{})}
	ready := make(chan map[string]string, 1)
	var text strings.Builder
	go func() {
		defer close(p.read)
		defer func() { _ = errs.Close() }()
		follow(errs, ready, &text)
	}()
	select {
	case p.said = <-ready:
		return p, nil
	case <-p.read:
		return nil, fmt.Errorf("it ended while starting: %w: %s", p.child.Err(), strings.TrimSpace(text.String()))
	case <-time.After(benchStartTime):
		err = fmt.Errorf("it is not ready after %v", benchStartTime)
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.end()
	return nil, err
}

// withoutWeir leaves out the settings of a server that may be meant for another one.
func withoutWeir(env []string) (kept []string) {
	for _, e := range env {
		if !strings.HasPrefix(e, "WEIR_") && !strings.HasPrefix(e, "INGEST_RATE_LIMIT_") {
			kept = append(kept, e)
		}
	}
	return kept
}

// follow reads log lines to their end, keeps the first few thousand bytes and reports the one that says "serving".
func follow(from io.Reader, ready chan<- map[string]string, text *strings.Builder) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if text.Len() < 4<<10 {
			text.Write(lines.Bytes())
			text.WriteByte('\n')
		}
		var line map[string]any
		if json.Unmarshal(lines.Bytes(), &line) != nil || line["msg"] != "serving" {
			continue
		}
		said := map[string]string{}
		for name, value := range line {
			if s, ok := value.(string); ok {
				said[name] = s
			}
		}
		select {
		case ready <- said:
		default:
		}
	}
	_, _ = io.Copy(io.Discard, from)
}

// end asks the process to stop and kills it when it does not.
func (p *benchProcess) end() {
	if err := syscall.Kill(p.pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		p.child.Kill()
	}
	select {
	case <-p.child.Ended():
	case <-time.After(benchEndTime):
		p.child.Kill()
	}
	<-p.read
}
