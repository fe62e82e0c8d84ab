package clickhouse

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/internal/filelock"
)

const (
	// startAttempts bounds the tries of the first start, each with other ports.
	startAttempts = 5
	// restartAttempts bounds the restarts in a row that never got as far as answering a query;
	// with the backoff they last about three minutes.
	restartAttempts = 20
	firstBackoff    = 100 * time.Millisecond
	maxBackoff      = 10 * time.Second
	// endGrace is how long an engine may take to end in order; then it is killed, which loses
	// nothing that it has confirmed.
	endGrace = 7 * time.Second
)

// Config says what to run and where.
type Config struct {
	// DataDir holds everything of this server: store, settings, logs, the record of the child.
	// One process at a time.
	DataDir string
	// CacheDir, Program and Progress are those of [FindConfig].
	CacheDir string
	Program  string
	Progress io.Writer
	// NativePort and HTTPPort are picked among the free ones where they are 0.
	NativePort, HTTPPort int
	// Databases are those that clients may make, fill and read; "*" is every one, and none is "weir".
	Databases []string
	// Grants are further things clients may do, in the words after GRANT: for measurements.
	Grants []string
	// Password of [User]; a random one where it is empty.
	Password string
	// MemoryLimit in bytes is when queries begin to be refused; 0 means 2 GiB.
	MemoryLimit int64
	// Logger may be nil.
	Logger *slog.Logger
}

// Server is a running ClickHouse, or one that is being restarted. Its methods may be called from
// anywhere at once.
type Server struct {
	cfg    Config
	engine Engine
	ports  ports
	token  string
	unlock func()

	mu      sync.Mutex
	current *process

	tries    int // restartAttempts; fewer in tests
	restarts atomic.Int64
	grace    atomic.Int64 // nanoseconds that Close gives the child
	closing  context.Context
	close    context.CancelFunc
	done     chan struct{}
	err      error // why the server is gone; read after done
}

// Start finds the engine, runs it and returns when it answers queries: in about half a second,
// after a fetch where there is no engine yet. The addresses stay the same for the life of the
// Server; while the child is being restarted connections are refused, and clients connect again.
// Errors say what to do; a start that failed may be tried again.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	s, err := start(ctx, cfg, freePorts)
	if err != nil {
		return nil, err
	}
	go s.supervise() //nolint:gosec,contextcheck // the server outlives the start that began it
	return s, nil
}

// start is Start without supervision.
func start(ctx context.Context, cfg Config, pick func() (ports, error)) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MemoryLimit == 0 {
		cfg.MemoryLimit = defaultMemoryLimit
	}
	cfg.MemoryLimit = max(cfg.MemoryLimit, minMemoryLimit)
	if cfg.Password == "" {
		cfg.Password = rand.Text()
	}
	if len(cfg.Databases) == 0 {
		cfg.Databases = []string{"weir"}
	}
	dir, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return nil, dataError(err)
	}
	cfg.DataDir = dir
	engine, err := Find(ctx, FindConfig{Program: cfg.Program, CacheDir: cfg.CacheDir, Progress: cfg.Progress, Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, engine: engine, token: rand.Text(), tries: restartAttempts, done: make(chan struct{})}
	s.grace.Store(int64(endGrace))
	s.closing, s.close = context.WithCancel(context.Background())
	if err := s.occupy(ctx); err != nil {
		return nil, err
	}
	if err := s.firstStart(ctx, pick); err != nil {
		s.unlock()
		return nil, err
	}
	return s, nil
}

// occupy makes the data folder ours.
func (s *Server) occupy(ctx context.Context) error {
	if err := os.MkdirAll(s.storeDir(), 0o700); err != nil {
		return dataError(err)
	}
	unlock, err := filelock.Try(filepath.Join(s.cfg.DataDir, "lock"))
	if errors.Is(err, filelock.ErrHeld) {
		return fmt.Errorf("the ClickHouse data folder %s is in use by another running weir; stop that one, or use another data folder", s.cfg.DataDir)
	}
	if err != nil {
		return dataError(err)
	}
	if err := endPrevious(ctx, s.cfg.DataDir, previousGrace, s.cfg.Logger); err != nil {
		unlock()
		return err
	}
	s.unlock = unlock
	return nil
}

func (s *Server) firstStart(ctx context.Context, pick func() (ports, error)) (err error) {
	for range startAttempts {
		if s.ports, err = pick(); err != nil {
			return err
		}
		if s.cfg.NativePort != 0 {
			s.ports.native = s.cfg.NativePort
		}
		if s.cfg.HTTPPort != 0 {
			s.ports.http = s.cfg.HTTPPort
		}
		if err = s.run(ctx); err == nil {
			return nil
		}
		if ctx.Err() != nil || errors.Is(err, errData) {
			return err
		}
		s.cfg.Logger.Debug("ClickHouse did not start, trying other ports", "error", err)
	}
	return fmt.Errorf("ClickHouse does not start (%s): %w; its log is %s", s.engine, err, filepath.Join(s.cfg.DataDir, "clickhouse.log"))
}

// run starts one process and waits until it answers.
func (s *Server) run(ctx context.Context) error {
	configFile := filepath.Join(s.cfg.DataDir, "clickhouse.xml")
	if err := writeSettings(configFile, settings(s.cfg.DataDir, s.token, s.cfg.MemoryLimit)); err != nil {
		return dataError(err)
	}
	if err := writeAccess(s.cfg); err != nil {
		return dataError(err)
	}
	start := time.Now()
	p, err := startProcess(s.engine, arguments(configFile, s.storeDir(), s.ports))
	if err != nil {
		return err
	}
	pid := p.PID()
	record := childRecord{PID: pid, Identity: processIdentity(pid), Native: s.NativeAddr(), HTTP: s.HTTPAddr()}
	if err := record.write(s.cfg.DataDir); err != nil {
		p.end(ctx, 0)
		return dataError(err)
	}
	if err := p.ready(ctx, s.Access(), s.token); err != nil {
		p.end(ctx, 0)
		return err
	}
	s.mu.Lock()
	s.current = p
	s.mu.Unlock()
	s.cfg.Logger.Info("ClickHouse answers", "native", s.NativeAddr(), "http", s.HTTPAddr(), "pid", pid,
		"engine", s.engine.String(), "after", time.Since(start).Round(time.Millisecond))
	return nil
}

// supervise restarts the child until the server is closed or restarts are hopeless.
func (s *Server) supervise() {
	for {
		p := s.process()
		select {
		case <-p.Ended():
			s.cfg.Logger.Error("ClickHouse has ended and is restarted", "error", p.failure())
			if err := s.restart(); err != nil {
				s.finish(err)
				return
			}
		case <-s.closing.Done():
			p.end(context.Background(), time.Duration(s.grace.Load()))
			_ = os.Remove(recordPath(s.cfg.DataDir))
			s.finish(nil)
			return
		}
	}
}

// restart runs the child again, on the same ports; nil also when the server is being closed.
func (s *Server) restart() error {
	var err error
	backoff := firstBackoff
	for range s.tries {
		if pause(s.closing, backoff) != nil {
			return nil
		}
		backoff = min(2*backoff, maxBackoff)
		s.restarts.Add(1)
		if err = s.run(s.closing); err == nil || s.closing.Err() != nil {
			return nil
		}
		s.cfg.Logger.Error("ClickHouse could not be restarted", "error", err, "next_try_in", backoff)
	}
	return fmt.Errorf("ClickHouse could not be restarted after %d tries: %w", s.tries, err)
}

func (s *Server) process() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// finish is called once, by supervise: the folder is free before anybody hears of the end.
func (s *Server) finish(err error) {
	s.unlock()
	s.err = err
	close(s.done)
}

// Access is how clients get in; it stays the same for the life of the Server.
func (s *Server) Access() Access {
	return Access{Addr: s.NativeAddr(), User: User, Password: s.cfg.Password}
}

// NativeAddr is the host:port of the native protocol.
func (s *Server) NativeAddr() string { return s.ports.nativeAddr() }

// HTTPAddr is the host:port of ClickHouse's HTTP interface.
func (s *Server) HTTPAddr() string { return s.ports.httpAddr() }

// PID is the process id of the child; of the last one while it is being restarted.
func (s *Server) PID() int { return s.process().PID() }

// Restarts counts how often the child has been started again.
func (s *Server) Restarts() int64 { return s.restarts.Load() }

// Engine says what is being run.
func (s *Server) Engine() Engine { return s.engine }

// Done is closed when the server is gone for good: after Close, or when it could not be
// restarted. Err then says why.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err is nil while the server runs and after Close.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Close ends the child and waits for it: at once when no client is connected, within ten seconds
// in any case. It may be called more than once. The error is the context's: the child is then
// still being ended.
func (s *Server) Close(ctx context.Context) error {
	s.close()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("ending ClickHouse: %w", ctx.Err())
	}
}

// Kill is Close without any grace for the child: it is ended by SIGKILL, as in a crash, and not
// restarted. For tests.
func (s *Server) Kill(ctx context.Context) error {
	s.grace.Store(0)
	return s.Close(ctx)
}

func (s *Server) storeDir() string { return filepath.Join(s.cfg.DataDir, "store") }

// errData marks errors of the data folder, for which other ports are no cure.
var errData = errors.New("the ClickHouse data folder does not work")

// dataError says what to do about a data folder that does not work.
func dataError(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: the disk is full: %w; free some room and start again", errData, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w: it can't be written to: %w; use another one (--data or WEIR_DATA_DIR), or change its owner", errData, err)
	}
	return fmt.Errorf("%w: %w", errData, err)
}
