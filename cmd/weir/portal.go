package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"weir/console"
	"weir/control"
	"weir/eventlog"
	"weir/internal/broker"
	"weir/internal/clickhouse"
	"weir/internal/datadir"
	"weir/internal/httpapi"
	"weir/internal/lifecycle"
	"weir/projections"
	"weir/webhooks"
)

// portal is one running process.
//
//	data folder ─▶ engines ─▶ log ─▶ Directory ─▶ roles ─▶ HTTP
//
// start goes from left to right and stop back, so that nothing runs without what it stands on.
// The port is taken before the engines start: a port that is in use should be told at once.
type portal struct {
	cfg      *serveCmd
	terminal *terminal
	logger   *slog.Logger
	registry *prometheus.Registry
	started  time.Time

	parts   *lifecycle.Stack
	group   *errgroup.Group // the loops that run until stop; the first failure ends the process
	failed  context.Context
	cancel  context.CancelFunc
	ready   *readiness
	listen  net.Listener
	handler *switchHandler
	server  *http.Server
	router  chi.Router   // without what stands before it
	conns   atomic.Int64 // open connections
	drain   []func()     // called first when stopping: take no new work

	observer    *httpapi.Observer
	ingestReady func() error           // nil without the role
	ingestDoor  http.Handler           // nil without the role
	projector   *projections.Projector // nil without the role
	lane        *webhooks.Lane         // nil without the role deliver
	backlog     *webhooks.BacklogWatch // nil without the role read
	monitor     *projections.Monitor   // nil without the role read
	auditor     *projections.Auditor   // nil without the role read
	tables      driver.Conn            // the read role's pool
	console     *console.Console       // nil without the role read

	previewing sync.Mutex // held by the one preview of another grouping algorithm at a time

	dir      *datadir.Dir
	keys     secrets
	engine   *clickhouse.Server // nil when ClickHouse is elsewhere
	embedded *broker.Broker     // nil when the log is elsewhere
	brokers  []string
	access   eventlog.Access // of the brokers
	// clickHouseTLS is nil for none.
	clickHouseTLS *tls.Config
	log           *eventlog.Log
	directory     *control.Directory
	stopOnce      sync.Once
	stopErr       error
}

func newPortal(cfg *serveCmd, t *terminal, logger *slog.Logger) *portal {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	p := &portal{cfg: cfg, terminal: t, logger: logger, registry: registry, started: time.Now(),
		parts: lifecycle.NewStack(logger), ready: newReadiness()}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.group, p.failed = errgroup.WithContext(ctx)
	return p
}

// start brings everything up; on an error the caller calls stop, which ends what had started.
func (p *portal) start(ctx context.Context) (err error) {
	if p.access, p.clickHouseTLS, err = p.cfg.access(); err != nil {
		return err
	}
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"open the data folder", p.openData},
		{"listen", p.listenHTTP},
		{"start the log", p.startLog},
		{"start ClickHouse", p.startClickHouse},
		{"open the log", p.openLog},
		{"read the control log", p.startDirectory},
		{"start the roles", p.startRoles},
		{"read the receipts", p.awaitIngest},
		{"make the read models", p.awaitReadModels},
		{"make the demo project", p.startDemo},
	}
	for _, step := range steps {
		p.ready.starting(step.name)
		p.logger.Debug("starting", "step", step.name)
		if err := step.do(ctx); err != nil {
			if ctx.Err() != nil {
				return errors.New("interrupted while starting")
			}
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	p.ready.starting("")
	p.logger.Info("serving", "http", p.url(), "roles", p.cfg.Roles, "version", version(),
		"log", p.brokers, "data", p.dir.Path(), "took", time.Since(p.started).Round(time.Millisecond))
	return nil
}

// wait returns when ctx ends (nil) or a part failed for good.
func (p *portal) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-p.failed.Done():
		return context.Cause(p.failed)
	}
}

// stop ends everything that started, in reverse, within shutdownTime.
func (p *portal) stop() error {
	p.stopOnce.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
		defer cancel()
		p.ready.starting("stop")
		p.stopErr = p.parts.Stop(ctx)
		p.cancel()
	})
	return p.stopErr
}

// run adds a loop that lives until stop. Its context ends in the reverse order of start.
func (p *portal) run(name string, loop func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	p.group.Go(func() error {
		defer close(done)
		if err := loop(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	p.parts.Push(name, func(stopCtx context.Context) error {
		cancel()
		select {
		case <-done:
			return nil
		case <-stopCtx.Done():
			return fmt.Errorf("%s did not end in time", name)
		}
	})
}

func (p *portal) openData(context.Context) error {
	dir, err := datadir.Open(p.cfg.Data)
	if err != nil {
		return err
	}
	p.dir = dir
	p.parts.Push("data folder", func(context.Context) error { return dir.Close() })
	if len(p.cfg.KafkaBrokers) > 0 && p.cfg.MasterKey == "" {
		p.logger.Warn("the master key is this data folder's own: projects made here can be opened by no other process of the same log",
			"file", dir.Path("master.key"), "do", "give every process the same WEIR_MASTER_KEY")
	}
	p.keys, err = loadSecrets(p.cfg, dir)
	return err
}

func (p *portal) listenHTTP(ctx context.Context) error {
	listen, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.cfg.HTTP)
	if err != nil {
		return fmt.Errorf("%w; is another weir running there? Name another address with --http ADDR or WEIR_HTTP_ADDR", err)
	}
	p.listen = listen
	p.handler = newSwitchHandler(p.ready)
	server := &http.Server{
		Handler:           clientPatience.handler(p.handler),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ConnState:         p.countConn,
		ErrorLog:          slog.NewLogLogger(p.logger.Handler(), slog.LevelDebug),
	}
	p.group.Go(func() error {
		if err := server.Serve(clientPatience.listener(listen)); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve HTTP: %w", err)
		}
		return nil
	})
	p.server = server
	p.parts.Push("listener", func(context.Context) error { return server.Close() })
	return nil
}

// openDoors lets requests in, once everything behind them runs. It is the last part that starts,
// and so the first that stops: requests that have begun still find all they need.
func (p *portal) openDoors(routes http.Handler) {
	p.handler.use(routes)
	p.parts.Push("http", func(ctx context.Context) error {
		for _, drain := range p.drain {
			drain()
		}
		ctx, cancel := context.WithTimeout(ctx, shutdownTime/2)
		defer cancel()
		if err := p.server.Shutdown(ctx); err != nil {
			return p.server.Close() // streams and clients that do not end by themselves
		}
		return nil
	})
}

// url is where a person on this machine reaches the server.
func (p *portal) url() string {
	addr := p.listen.Addr().(*net.TCPAddr)
	host := addr.IP.String()
	if addr.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(addr.Port))
}

// gateway is the name that at most one running process bears: with the embedded log there is only this one.
func (p *portal) gateway() string {
	if len(p.cfg.KafkaBrokers) == 0 {
		return "embedded"
	}
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%s-%d-%d", host, os.Getpid(), p.started.UnixNano())
}
