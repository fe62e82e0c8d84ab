package engines

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"weir/internal/clickhouse"
	"weir/internal/clickhouse/chtest"
)

// clickHouseEngine is a server that can be killed and started again on its data and address.
type clickHouseEngine interface {
	start(ctx context.Context) error
	kill(ctx context.Context) error
}

// ClickHouseServer is a running ClickHouse.
type ClickHouseServer struct {
	t      testing.TB
	access clickhouse.Access
	engine clickHouseEngine // nil when the server is somebody else's
}

// ClickHouse starts a server for this test and returns when it answers.
func ClickHouse(t testing.TB) *ClickHouseServer {
	t.Helper()
	if addr := os.Getenv(clickHouseAddrEnv); addr != "" {
		return &ClickHouseServer{t: t, access: clickhouse.Access{Addr: addr}}
	}
	s := choose(t, "ClickHouse",
		func(ctx context.Context) (*ClickHouseServer, error) { return clickHouseInDocker(ctx, t) },
		func(ctx context.Context) (*ClickHouseServer, error) { return clickHouseAsProcess(ctx, t) })
	s.t = t
	return s
}

// Access is how to get in; it stays the same through Kill and Restart.
func (s *ClickHouseServer) Access() clickhouse.Access { return s.access }

// Kill stops the server without warning. The test is left out when it is somebody else's.
func (s *ClickHouseServer) Kill() {
	s.t.Helper()
	s.owned()
	if err := s.engine.kill(context.Background()); err != nil {
		s.t.Fatalf("killing ClickHouse: %v", err)
	}
}

// Restart starts a killed server on its data and returns when it answers.
func (s *ClickHouseServer) Restart() {
	s.t.Helper()
	s.owned()
	if err := s.engine.start(context.Background()); err != nil {
		s.t.Fatalf("starting ClickHouse again: %v", err)
	}
	if err := answers(context.Background(), s.access); err != nil {
		s.t.Fatal(err)
	}
}

func (s *ClickHouseServer) owned() {
	s.t.Helper()
	if s.engine == nil {
		s.t.Skipf("left out, as the server of %s is not ours to kill", clickHouseAddrEnv)
	}
}

// answers waits until the server answers a query.
func answers(ctx context.Context, at clickhouse.Access) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	conn, err := ch.Open(&ch.Options{Addr: []string{at.Addr}, Auth: at.Auth("default"), DialTimeout: 2 * time.Second})
	if err != nil {
		return err
	}
	defer conn.Close()
	tick := time.NewTicker(readyPause)
	defer tick.Stop()
	for {
		if err = conn.Exec(ctx, "select 1"); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ClickHouse does not answer on %s within %s: %w", at.Addr, readyTimeout, err)
		case <-tick.C:
		}
	}
}

// clickHouseProcess runs the engine as Weir itself does.
type clickHouseProcess struct {
	cfg    clickhouse.Config
	server *clickhouse.Server
}

func clickHouseAsProcess(ctx context.Context, t testing.TB) (*ClickHouseServer, error) {
	p := &clickHouseProcess{cfg: chtest.Config(t, t.TempDir())}
	t.Cleanup(func() { _ = p.kill(context.WithoutCancel(ctx)) })
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	return &ClickHouseServer{access: p.server.Access(), engine: p}, nil
}

func (p *clickHouseProcess) start(ctx context.Context) (err error) {
	if p.server, err = clickhouse.Start(ctx, p.cfg); err != nil {
		return err
	}
	p.cfg.Password = p.server.Access().Password // it and the port: for the next start
	p.cfg.NativePort, err = portOf(p.server.NativeAddr())
	return err
}

func (p *clickHouseProcess) kill(ctx context.Context) error {
	if p.server == nil {
		return nil
	}
	return p.server.Kill(ctx)
}

func portOf(addr string) (int, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}
