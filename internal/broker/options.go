package broker

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// brokerConfigs are the defaults of the embedded broker that differ from
// Kafka's: nothing expires unless a topic says so. A projector that was away for
// a week must find its checkpoints again.
var brokerConfigs = map[string]string{
	"offsets.retention.minutes": "2147483647",
	"log.retention.ms":          "-1",
	"message.max.bytes":         "33554432",
	"log.cleaner.backoff.ms":    "4000000000000", // never: see retain
}

// shortestSession lets tests see a dead member quickly. Clients choose their own
// session timeout; this is only the lower bound.
const shortestSession = 100 * time.Millisecond

func options(cfg Config) []kfake.Opt {
	opts := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.ClusterID("weir"),
		kfake.ListenFn(listener(cfg.Addr)),
		kfake.GroupMinSessionTimeout(shortestSession),
		kfake.BrokerConfigs(brokerConfigs),
		kfake.WithLogger(logger{cfg.Logger}),
	}
	if cfg.DataDir != "" {
		opts = append(opts, kfake.DataDir(cfg.DataDir))
		if !cfg.Unsynced {
			opts = append(opts, kfake.SyncWrites())
		}
	}
	return append(opts, cfg.Options...)
}

// listener opens addr when one was asked for, else what kfake proposes: a free
// port on loopback.
func listener(addr string) func(network, address string) (net.Listener, error) {
	return func(network, address string) (net.Listener, error) {
		if addr != "" {
			address = addr
		}
		return net.Listen(network, address)
	}
}

// logger passes kfake's warnings and errors on; its request log would drown ours.
type logger struct{ to *slog.Logger }

func (l logger) Logf(level kfake.LogLevel, format string, args ...any) {
	switch level {
	case kfake.LogLevelError:
		l.to.Error("embedded log: " + fmt.Sprintf(format, args...))
	case kfake.LogLevelWarn:
		l.to.Warn("embedded log: " + fmt.Sprintf(format, args...))
	case kfake.LogLevelDebug, kfake.LogLevelInfo:
		if l.to.Enabled(context.Background(), slog.LevelDebug) {
			l.to.Debug("embedded log: " + fmt.Sprintf(format, args...))
		}
	case kfake.LogLevelNone:
	}
}
