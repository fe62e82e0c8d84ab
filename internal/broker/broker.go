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

	"weir/internal/diskspace"
)

// Config says where a broker keeps its state and how it logs.
type Config struct {
	// DataDir is the folder of the log. It is made when missing. Empty keeps
	// everything in memory: for tests only.
	DataDir string

	// Addr is the loopback address to listen on. Empty takes a free port.
	Addr string

	// MinFree is how many bytes of the disk are left alone: with less room appends
	// and checkpoints are refused. 0 is DefaultMinFree.
	MinFree int64

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
	disk    *disk
	done    chan struct{}
	stop    context.CancelFunc
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
	b := &Broker{cluster: cluster, addrs: cluster.ListenAddrs(), done: make(chan struct{})}
	watching, stop := context.WithCancel(context.Background())
	b.stop = stop
	if cfg.DataDir == "" {
		close(b.done)
		return b, nil
	}
	b.disk = newDisk(cfg)
	cluster.Fault(b.disk.refusal())
	var loops sync.WaitGroup
	loops.Go(func() { b.disk.watch(watching) })
	loops.Go(func() { b.retain(watching, cfg) })
	go func() {
		loops.Wait()
		close(b.done)
	}()
	return b, nil
}

// Room is how many bytes the log's disk has left, and below how many appends are refused; 0 and 0 in
// memory.
func (b *Broker) Room() (free, floor int64) {
	if b.disk == nil {
		return 0, 0
	}
	free, _ = diskspace.Free(b.disk.dir)
	return free, b.disk.minFree
}

// Failed is closed when the disk has lost what was written to it: events that were acknowledged
// within the last second may not be kept. Nothing is appended from then on; Err says what to do.
func (b *Broker) Failed() <-chan struct{} {
	if b.disk == nil {
		return nil
	}
	return b.disk.lost
}

// Err is why the broker has failed; nil while it has not.
func (b *Broker) Err() error {
	select {
	case <-b.Failed():
		return b.disk.err
	default:
		return nil
	}
}

// Addrs returns the host:port pairs clients connect to.
func (b *Broker) Addrs() []string { return b.addrs }

// Cluster gives tests the broker's own controls, such as forced faults.
func (b *Broker) Cluster() *kfake.Cluster { return b.cluster }

// Close stops serving and writes out the last state. What was acknowledged is
// safe without it. Calling it again does nothing.
func (b *Broker) Close() {
	b.close.Do(func() {
		b.stop()
		<-b.done
		b.cluster.Close()
		if b.disk != nil {
			b.disk.end()
		}
	})
}

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
