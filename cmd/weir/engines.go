package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/eventlog"
	"weir/ingest/limits"
	"weir/internal/broker"
	"weir/internal/clickhouse"
	"weir/readmodel"
	"weir/webhooks"
)

// startLog runs the embedded broker unless brokers are given.
func (p *portal) startLog(ctx context.Context) error {
	if len(p.cfg.KafkaBrokers) > 0 {
		p.brokers = p.cfg.KafkaBrokers
		return nil
	}
	embedded, err := broker.Start(ctx, broker.Config{DataDir: p.dir.Path("log"), Logger: p.logger})
	if err != nil {
		return err
	}
	p.brokers, p.embedded = embedded.Addrs(), embedded
	stopped := make(chan struct{})
	p.parts.Push("embedded log", func(context.Context) error {
		close(stopped)
		embedded.Close()
		return nil
	})
	p.group.Go(func() error {
		select {
		case <-embedded.Failed():
			return embedded.Err()
		case <-stopped:
			return nil
		}
	})
	return nil
}

// needsClickHouse tells whether a role of this process reads or writes read models.
func (p *portal) needsClickHouse() bool { return p.cfg.has(roleProject) || p.cfg.has(roleRead) }

// startClickHouse runs the child unless a server is given or no role needs one.
func (p *portal) startClickHouse(ctx context.Context) error {
	if p.cfg.ClickHouseAddr != "" || !p.needsClickHouse() {
		return nil
	}
	engine, err := clickhouse.Start(ctx, clickhouse.Config{
		DataDir: p.dir.Path("clickhouse"), Databases: []string{p.cfg.ClickHouseDatabase}, CacheDir: p.cfg.Cache, Program: p.cfg.ClickHouseProgram,
		Progress: p.terminal.err, Logger: p.logger,
	})
	if err != nil {
		return err
	}
	p.engine = engine
	p.parts.Push("clickhouse", engine.Close)
	p.group.Go(func() error {
		<-engine.Done()
		if err := engine.Err(); err != nil {
			return fmt.Errorf("the ClickHouse child ended: %w", err)
		}
		return nil
	})
	return p.makeDatabase(ctx) // now, so that nobody who asks early has to be told that it is missing
}

// clickHouse is where the read models are and who we are there.
func (p *portal) clickHouse() readmodel.ConnectConfig {
	if p.engine != nil {
		at := p.engine.Access()
		return readmodel.ConnectConfig{Addrs: []string{at.Addr}, Database: p.cfg.ClickHouseDatabase, Username: at.User, Password: at.Password}
	}
	return readmodel.ConnectConfig{
		Addrs: []string{p.cfg.ClickHouseAddr}, Database: p.cfg.ClickHouseDatabase,
		Username: p.cfg.ClickHouseUser, Password: p.cfg.ClickHousePassword, TLS: p.clickHouseTLS,
	}
}

// appendTimeout is below the gateway's own bound of 10 s: an append that it gave up on is not
// retried behind its back.
const appendTimeout = 8 * time.Second

// topics are those that not every user of the log needs.
func topics() []eventlog.Topic {
	return append([]eventlog.Topic{
		{Name: limits.Topic, Partitions: 1, Retention: limits.TopicRetention, Single: true},
		{Name: eventlog.RejectionsTopic},
	}, webhooks.Topics()...)
}

const (
	smallestRecordBatch = 16 << 20

	// largestRecordBatch fits Kafka's largest request, socket.request.max.bytes, of 100 MiB.
	largestRecordBatch = 96 << 20
)

// recordBatchBytes is what one record batch may have, so that any batch of batchBytes fits: the
// smallest legal event has 63 bytes and as a record about 85 more. Of the largest batches those
// with very small events do not fit; they are a 413.
func recordBatchBytes(batchBytes int64) int {
	return int(min(max(batchBytes*5/2, smallestRecordBatch), largestRecordBatch))
}

// logPatience is how long an unreachable log is tried at the start before it is an error.
const logPatience = 30 * time.Second

func (p *portal) openLog(ctx context.Context) error {
	embedded := len(p.cfg.KafkaBrokers) == 0
	deadline := time.Now().Add(logPatience)
	for {
		log, err := eventlog.Open(ctx, eventlog.Config{
			Brokers: p.brokers, Embedded: embedded, Access: p.access, Partitions: p.cfg.LogPartitions, Replication: p.cfg.LogReplicas,
			AppendTimeout: appendTimeout, AppendBudget: int(p.appendBudget()), Topics: topics(),
			MaxRecordBatchBytes: recordBatchBytes(p.cfg.BatchBytes),
			Logger:              p.logger, Registerer: p.registry,
		})
		if err == nil {
			p.log = log
			p.parts.Push("log", log.Close)
			return nil
		}
		if !errors.Is(err, eventlog.ErrUnavailable) || time.Now().After(deadline) {
			return fmt.Errorf("%w; are the brokers in WEIR_KAFKA_BROKERS right and running, and do they want WEIR_KAFKA_TLS or WEIR_KAFKA_SASL?", err)
		}
		p.logger.Warn("the log is not reachable yet", "brokers", p.brokers, "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
