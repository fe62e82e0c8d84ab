package eventlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Limits and their reasons.
const (
	// defaultRecordBatch is the most bytes one record batch may have. A body of
	// 5 MiB of the smallest legal events, each with its record's overhead of
	// about 70 bytes, is near 11 MiB.
	defaultRecordBatch = 16 << 20

	// groupBytes is where a shared record batch is closed to further sets, so
	// that readers need not hold more than a few of them at once.
	groupBytes = 4 << 20

	// defaultAppendBudget bounds the memory of everything waiting to be appended.
	defaultAppendBudget = 128 << 20

	embeddedPartitions = 1
	clusterPartitions  = 6
	mostReplicas       = 3
)

// Compression of the record batches that are appended.
type Compression uint8

// The values are those of the record batch format.
const (
	Uncompressed Compression = 0
	Snappy       Compression = 2
	LZ4          Compression = 3
	Zstd         Compression = 4
)

// Config says how to reach the log and what its topics are like. The zero value
// of every field but Brokers is a sane default.
type Config struct {
	// Brokers are host:port pairs to start from; the others are discovered.
	Brokers []string

	// Embedded says that Brokers is the broker inside this process: one
	// partition per topic and no replication.
	Embedded bool

	// Partitions of each events topic and of the receipts when Open makes
	// them: 1 when Embedded, else 6. The control topic always has one.
	Partitions int

	// Replication of the topics Open makes: 0 is the number of brokers, 3 at most.
	Replication int

	// MaxRecordBatchBytes bounds one record batch, and so one Set (16 MiB).
	MaxRecordBatchBytes int

	// EventsRetention of the events topics; 0 keeps them for ever.
	EventsRetention time.Duration

	// ReceiptsRetention of the receipts topic (26 h, at least 25 h).
	ReceiptsRetention time.Duration

	// Topics are further topics to make sure of, beside the standard ones.
	Topics []Topic

	// Compression of appended record batches. None is best on loopback.
	Compression Compression

	// AppendBudget bounds the bytes of all sets that wait or are under way
	// (128 MiB, at least twice MaxRecordBatchBytes). Over it Append sheds.
	AppendBudget int

	// AppendTimeout is how long one record batch is tried before its sets fail
	// with ErrUnavailable (20 s).
	AppendTimeout time.Duration

	// RequestTimeout bounds one request to a broker (10 s).
	RequestTimeout time.Duration

	// SessionTimeout is how long a group member may be silent before its
	// partitions go to others (10 s). Apache Kafka takes 6 s or more.
	SessionTimeout time.Duration

	// RebalanceTimeout is how long members have to finish their work when a
	// rebalance begins (30 s).
	RebalanceTimeout time.Duration

	// Access is what the brokers ask of those who connect.
	Access Access

	// Dial opens connections to brokers. Nil dials TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// ClientID is how brokers name this process in their logs ("weir").
	ClientID string

	// Logger gets warnings. Nil is slog.Default().
	Logger *slog.Logger

	// Registerer gets the collectors. Nil registers none.
	Registerer prometheus.Registerer

	partitionsAsked bool // Partitions was given: topics with another number are told of
}

func (cfg Config) withDefaults() Config {
	orInt(&cfg.MaxRecordBatchBytes, defaultRecordBatch)
	orInt(&cfg.AppendBudget, defaultAppendBudget)
	cfg.AppendBudget = max(cfg.AppendBudget, 2*cfg.MaxRecordBatchBytes)
	orDuration(&cfg.ReceiptsRetention, shortestReceipts+time.Hour)
	orDuration(&cfg.AppendTimeout, 20*time.Second)
	orDuration(&cfg.RequestTimeout, 10*time.Second)
	orDuration(&cfg.SessionTimeout, 10*time.Second)
	orDuration(&cfg.RebalanceTimeout, 30*time.Second)
	cfg.partitionsAsked = cfg.Partitions != 0
	if cfg.Partitions == 0 {
		cfg.Partitions = clusterPartitions
		if cfg.Embedded {
			cfg.Partitions = embeddedPartitions
		}
	}
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext
	}
	if cfg.ClientID == "" {
		cfg.ClientID = "weir"
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return cfg
}

func (cfg Config) check() error {
	switch {
	case len(cfg.Brokers) == 0:
		return errors.New("no log broker is given: name at least one as host:port")
	case cfg.Partitions < 1:
		return fmt.Errorf("%d partitions: give 1 or more", cfg.Partitions)
	case cfg.ReceiptsRetention < shortestReceipts:
		return fmt.Errorf("receipts kept %v: idempotency keys hold for 24 h, so give %v or more", cfg.ReceiptsRetention, shortestReceipts)
	}
	return nil
}

func orInt(v *int, otherwise int) {
	if *v == 0 {
		*v = otherwise
	}
}

func orDuration(v *time.Duration, otherwise time.Duration) {
	if *v == 0 {
		*v = otherwise
	}
}
