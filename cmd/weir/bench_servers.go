package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"time"

	"weir/eventlog"
	"weir/ingest/baseline"
	"weir/internal/broker"
	"weir/schemas"
)

// benchBrokerCmd is the embedded broker alone, without fsync: what it costs is not measured.
type benchBrokerCmd struct {
	Data string `required:""`
}

func (c *benchBrokerCmd) Run(ctx context.Context, t *terminal) error {
	logger := slog.New(slog.NewJSONHandler(t.err, nil))
	b, err := broker.Start(ctx, broker.Config{DataDir: c.Data, Unsynced: true, Logger: logger})
	if err != nil {
		return err
	}
	logger.Info("serving", "addr", b.Addrs()[0])
	<-ctx.Done()
	b.Close()
	return nil
}

// profiled writes a CPU profile of run to file, if one is named.
func profiled(file string, run func() error) error {
	if file == "" {
		return run()
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	err = run()
	pprof.StopCPUProfile()
	return errors.Join(err, f.Close())
}

// benchGatewayCmd is `weir serve`, profiled.
type benchGatewayCmd struct {
	serveCmd
	Profile string `name:"cpuprofile"`
}

func (c *benchGatewayCmd) Run(ctx context.Context, t *terminal) error {
	return profiled(c.Profile, func() error { return c.serveCmd.Run(ctx, t) })
}

// benchBaselineCmd serves the plainly written gateway.
type benchBaselineCmd struct {
	Brokers []string `env:"WEIR_KAFKA_BROKERS" required:""`
	Key     string   `env:"WEIR_API_KEY" required:""`
	Secret  string   `env:"WEIR_WEBHOOK_SECRET" required:""`
	Bare    bool
	Profile string `name:"cpuprofile"`
}

func (c *benchBaselineCmd) Run(ctx context.Context, t *terminal) error {
	return profiled(c.Profile, func() error { return c.serve(ctx, t) })
}

func (c *benchBaselineCmd) serve(ctx context.Context, t *terminal) error {
	logger := slog.New(slog.NewJSONHandler(t.err, nil))
	log, err := eventlog.Open(ctx, eventlog.Config{Brokers: c.Brokers, Logger: logger}) // makes the topics
	if err != nil {
		return err
	}
	server := &baseline.Server{
		Brokers: c.Brokers, Partitions: log.Partitions(eventlog.EventsTopic(schemas.Log)),
		Project: "prj_bench", Key: c.Key, Secret: []byte(c.Secret), Bare: c.Bare,
	}
	if err := log.Close(ctx); err != nil {
		return err
	}
	server.Open()
	listen, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /api/ingest", server)
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = web.Close() })
	logger.Info("serving", "http", "http://"+listen.Addr().String())
	if err := web.Serve(listen); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
