// Package broker runs the embedded log: one Kafka broker inside this process,
// listening on loopback only. It is franz-go's kfake with its state on disk and
// an fsync for every batch, so what it acknowledged survives a kill at any
// moment. Everything that talks to it does so over the Kafka protocol, exactly
// as with Apache Kafka.
package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Config says where a broker keeps its state and how it logs.
type Config struct {
	// DataDir is the folder of the log. It is made when missing. Empty keeps
	// everything in memory: for tests only.
	DataDir string

	// Addr is the loopback address to listen on. Empty takes a free port.
	Addr string

	// Unsynced leaves out the fsync per batch: for tests that need speed and
	// no durability.
	Unsynced bool

	// Logger gets the broker's warnings and errors. Nil is slog.Default().
	Logger *slog.Logger

	// Options are given to kfake after ours: for tests that need several
	// brokers or other limits.
	Options []kfake.Opt
}

// Broker is a running embedded broker. Its methods may be called at any time
// and at once.
type Broker struct {
	cluster *kfake.Cluster
	addrs   []string
	close   sync.Once
}

// Start loads the log from Config.DataDir and serves it. It returns once clients
// can connect. One folder belongs to one broker at a time; the caller sees to
// that. An error names the folder or the address and is final: nothing runs then.
func Start(ctx context.Context, cfg Config) (*Broker, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if err := prepare(cfg.DataDir); err != nil {
		return nil, err
	}
	cluster, err := kfake.NewCluster(options(cfg)...)
	if err != nil {
		return nil, startError(cfg, err)
	}
	return &Broker{cluster: cluster, addrs: cluster.ListenAddrs()}, nil
}

// Addrs returns the host:port pairs clients connect to.
func (b *Broker) Addrs() []string { return b.addrs }

// Cluster gives tests the broker's own controls, such as forced faults.
func (b *Broker) Cluster() *kfake.Cluster { return b.cluster }

// Close stops serving and writes out the last state. What was acknowledged is
// safe without it. Calling it again does nothing.
func (b *Broker) Close() { b.close.Do(b.cluster.Close) }

// prepare makes the data folder and checks that a file can be written in it, so
// that an unusable folder is reported as what it is.
func prepare(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("log folder %s cannot be made: %w; give another folder or make its parent writable", dir, err)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return fmt.Errorf("log folder %s is not writable: %w; give another folder or change its owner", dir, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func startError(cfg Config, err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "listen" {
		return fmt.Errorf("embedded log cannot listen on %s: %w; free the port or choose another", op.Addr, err)
	}
	if cfg.DataDir == "" {
		return fmt.Errorf("embedded log cannot start: %w", err)
	}
	return fmt.Errorf("embedded log cannot load %s: %w; restore the folder from a copy or start with an empty one", filepath.Clean(cfg.DataDir), err)
}
