package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The roles a process can have. Each is wired in its own file, role_<name>.go.
const (
	roleIngest  = "ingest"
	roleProject = "project"
	roleRead    = "read"
	roleDeliver = "deliver"
)

// shutdownTime is how long a stop may take all together: begun requests, folds, engines.
const shutdownTime = 10 * time.Second

// serveCmd holds every setting of a server. Nothing else reads flags or the environment.
type serveCmd struct {
	HTTP  string   `name:"http" help:"Address to listen on (${default})." env:"WEIR_HTTP_ADDR" default:"127.0.0.1:8080" placeholder:"ADDR"`
	Data  string   `help:"Data folder: embedded log and ClickHouse, master key, admin token (${default})." env:"WEIR_DATA_DIR" default:"${data_dir}" placeholder:"DIR"`
	Cache string   `help:"Cache folder of the fetched ClickHouse engine (${default})." env:"WEIR_CACHE_DIR" default:"${cache_dir}" placeholder:"DIR"`
	Roles []string `help:"What this process does: ingest, project, read, deliver." env:"WEIR_ROLES" default:"ingest,project,read,deliver" enum:"ingest,project,read,deliver"`
	Demo  bool     `help:"Make a demo project at the first start and print lines to paste."`

	KafkaBrokers  []string `help:"Kafka brokers, host:port; without any the log is embedded." env:"WEIR_KAFKA_BROKERS" placeholder:"ADDR,…" group:"log"`
	KafkaTLS      bool     `name:"kafka-tls" help:"Connect to the brokers with TLS." env:"WEIR_KAFKA_TLS" group:"log"`
	KafkaCA       string   `name:"kafka-ca" help:"File with the certificate authorities of the brokers, PEM; without it the system's." env:"WEIR_KAFKA_CA" placeholder:"FILE" group:"log"`
	KafkaSASL     string   `name:"kafka-sasl" help:"How to sign in to the brokers: none, plain, scram-sha-256, scram-sha-512." env:"WEIR_KAFKA_SASL" default:"none" enum:"none,plain,scram-sha-256,scram-sha-512" group:"log"`
	KafkaUser     string   `help:"User of the brokers." env:"WEIR_KAFKA_USER" group:"log"`
	KafkaPassword string   `help:"Password of the brokers." env:"WEIR_KAFKA_PASSWORD" placeholder:"PASSWORD" group:"log"`
	LogPartitions int      `help:"Partitions of each topic that is made; 0 is automatic: 1 embedded, 6 on Kafka." env:"WEIR_LOG_PARTITIONS" group:"log"`
	LogReplicas   int      `help:"Replication of each topic that is made; 0 is automatic: the number of brokers, 3 at most." env:"WEIR_LOG_REPLICAS" group:"log"`

	ClickHouseAddr     string `name:"clickhouse-addr" help:"ClickHouse server, native protocol, host:port; without it ClickHouse runs as a child." env:"WEIR_CLICKHOUSE_ADDR" placeholder:"ADDR" group:"clickhouse"`
	ClickHouseDatabase string `name:"clickhouse-database" help:"Database of the read models." env:"WEIR_CLICKHOUSE_DATABASE" default:"weir" group:"clickhouse"`
	ClickHouseUser     string `name:"clickhouse-user" help:"User of the ClickHouse server." env:"WEIR_CLICKHOUSE_USER" default:"default" group:"clickhouse"`
	ClickHousePassword string `name:"clickhouse-password" help:"Password of the ClickHouse server." env:"WEIR_CLICKHOUSE_PASSWORD" placeholder:"PASSWORD" group:"clickhouse"`
	ClickHouseTLS      bool   `name:"clickhouse-tls" help:"Connect to the ClickHouse server with TLS." env:"WEIR_CLICKHOUSE_TLS" group:"clickhouse"`
	ClickHouseCA       string `name:"clickhouse-ca" help:"File with the certificate authorities of the ClickHouse server, PEM; without it the system's." env:"WEIR_CLICKHOUSE_CA" placeholder:"FILE" group:"clickhouse"`
	ClickHouseProgram  string `name:"clickhouse-program" help:"clickhouse program to run as the child." env:"WEIR_CLICKHOUSE_PROGRAM" placeholder:"PATH" group:"clickhouse"`

	MasterKey  string `help:"Key that encrypts webhook secrets: 32 bytes, base64. Without it: master.key in the data folder." env:"WEIR_MASTER_KEY" placeholder:"KEY" group:"secrets"`
	AdminToken string `help:"Admin token. Without it: admin.token in the data folder." env:"WEIR_ADMIN_TOKEN" placeholder:"TOKEN" group:"secrets"`

	EventsPerSecond  int   `help:"Events per second and project; 0 is no limit." env:"INGEST_RATE_LIMIT_EVENTS_PER_SECOND" default:"1000" group:"limits"`
	BatchesPerSecond int   `help:"Batches per second and project; 0 is no limit." env:"INGEST_RATE_LIMIT_BATCHES_PER_SECOND" default:"100" group:"limits"`
	BatchBytes       int64 `help:"Bytes of a batch, as sent and unpacked." env:"INGEST_RATE_LIMIT_BATCH_BYTES" default:"5242880" group:"limits"`
	BytesInFlight    int64 `help:"Bytes of bodies being worked on at once; over it requests are shed (256 MiB, or a quarter of memory)." env:"WEIR_BYTES_IN_FLIGHT" group:"limits"`

	ErrorsAlgorithm int `help:"Version of the rules that group errors, see docs/errors.md; another one is a rebuild beside the groups that serve (${default})." env:"WEIR_ERRORS_ALGORITHM" default:"1" placeholder:"N" group:"errors"`

	WebhooksAllow []string `help:"Networks that webhooks may be sent to although they are not public, as CIDRs." env:"WEIR_WEBHOOKS_ALLOW_CIDRS" placeholder:"CIDR,…" group:"webhooks"`

	LogLevel  slog.Level `help:"debug, info, warn or error." env:"WEIR_LOG_LEVEL" default:"info"`
	LogFormat string     `help:"text or json." env:"WEIR_LOG_FORMAT" default:"text" enum:"text,json"`
}

// Run serves until the context ends (Ctrl-C, SIGTERM), then drains and stops.
func (c *serveCmd) Run(ctx context.Context, t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	logger := c.logger(t)
	portal := newPortal(c, t, logger)
	if err := portal.start(ctx); err != nil {
		_ = portal.stop() // why the start failed is what counts
		return err
	}
	err := portal.wait(ctx)
	logger.Info("stopping", "at_most", shutdownTime)
	if stopped := portal.stop(); err == nil {
		err = stopped
	}
	return err
}

// check finds settings that cannot work together, before anything is started.
func (c *serveCmd) check() error {
	if _, _, err := net.SplitHostPort(c.HTTP); err != nil {
		return usagef("--http %q is no address to listen on (%w): write host:port, such as 127.0.0.1:8080 or :8080", c.HTTP, err)
	}
	switch {
	case len(c.Roles) == 0:
		return usagef("--roles is empty: name at least one of ingest, project, read, deliver")
	case c.EventsPerSecond < 0 || c.BatchesPerSecond < 0:
		return usagef("INGEST_RATE_LIMIT_EVENTS_PER_SECOND and INGEST_RATE_LIMIT_BATCHES_PER_SECOND must be 0 (no limit) or more")
	case c.BatchBytes < 1024 || c.BatchBytes > 64<<20:
		return usagef("INGEST_RATE_LIMIT_BATCH_BYTES is %d: it must be from 1024 to 67108864", c.BatchBytes)
	case !identifier.MatchString(c.ClickHouseDatabase):
		return usagef("WEIR_CLICKHOUSE_DATABASE is %q: use letters, digits and underscores, a letter first", c.ClickHouseDatabase)
	case unknownAlgorithm(c.ErrorsAlgorithm) != nil:
		return usagef("WEIR_ERRORS_ALGORITHM: %v", unknownAlgorithm(c.ErrorsAlgorithm))
	case c.LogPartitions < 0 || c.LogReplicas < 0:
		return usagef("--log-partitions and --log-replicas must be 0 (automatic) or more")
	case c.KafkaSASL != saslNone && (c.KafkaUser == "" || c.KafkaPassword == ""):
		return usagef("WEIR_KAFKA_SASL=%s needs WEIR_KAFKA_USER and WEIR_KAFKA_PASSWORD", c.KafkaSASL)
	case len(c.KafkaBrokers) == 0 && !c.has(roleIngest):
		return usagef("--roles without ingest needs WEIR_KAFKA_BROKERS: the embedded log is reached by the process that holds it only")
	}
	return nil
}

var identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)

func (c *serveCmd) has(role string) bool { return slices.Contains(c.Roles, role) }

func (c *serveCmd) logger(t *terminal) *slog.Logger {
	opts := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(t.err, opts))
	}
	return slog.New(slog.NewTextHandler(t.err, opts))
}

// config is the effective configuration for `weir doctor`, secrets masked.
func (c *serveCmd) config() map[string]string {
	return map[string]string{
		"WEIR_DATA_DIR":                        c.Data,
		"WEIR_CACHE_DIR":                       c.Cache,
		"WEIR_LOG_PARTITIONS":                  automatic(c.LogPartitions),
		"WEIR_LOG_REPLICAS":                    automatic(c.LogReplicas),
		"WEIR_KAFKA_TLS":                       fmt.Sprint(c.KafkaTLS),
		"WEIR_KAFKA_CA":                        c.KafkaCA,
		"WEIR_KAFKA_SASL":                      c.KafkaSASL,
		"WEIR_KAFKA_USER":                      c.KafkaUser,
		"WEIR_KAFKA_PASSWORD":                  masked(c.KafkaPassword, "(none)"),
		"WEIR_CLICKHOUSE_TLS":                  fmt.Sprint(c.ClickHouseTLS),
		"WEIR_CLICKHOUSE_CA":                   c.ClickHouseCA,
		"WEIR_CLICKHOUSE_DATABASE":             c.ClickHouseDatabase,
		"WEIR_CLICKHOUSE_USER":                 c.ClickHouseUser,
		"WEIR_CLICKHOUSE_PASSWORD":             masked(c.ClickHousePassword, "(none)"),
		"WEIR_MASTER_KEY":                      masked(c.MasterKey, inDataFolder),
		"WEIR_ERRORS_ALGORITHM":                fmt.Sprint(c.ErrorsAlgorithm),
		"WEIR_WEBHOOKS_ALLOW_CIDRS":            strings.Join(c.WebhooksAllow, ","),
		"WEIR_ADMIN_TOKEN":                     masked(c.AdminToken, inDataFolder),
		"INGEST_RATE_LIMIT_EVENTS_PER_SECOND":  fmt.Sprint(c.EventsPerSecond),
		"INGEST_RATE_LIMIT_BATCHES_PER_SECOND": fmt.Sprint(c.BatchesPerSecond),
		"INGEST_RATE_LIMIT_BATCH_BYTES":        fmt.Sprint(c.BatchBytes),
	}
}

const inDataFolder = "(from the data folder)"

// masked says whether a secret was given, never what it is.
func masked(secret, otherwise string) string {
	if secret == "" {
		return otherwise
	}
	return "(set)"
}

func automatic(n int) string {
	if n == 0 {
		return "automatic"
	}
	return fmt.Sprint(n)
}

// defaultFolders are the kong variables behind the defaults of --data and --cache.
func defaultFolders() map[string]string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return map[string]string{"data_dir": "data", "cache_dir": filepath.Join(cache, "weir")}
}
