package main

import (
	"context"
	"fmt"
	"time"

	"weir/eventlog"
	"weir/readmodel/tables"
	"weir/schemas"
)

// kafkaEngineTime is how long ClickHouse's Kafka engine may take.
const kafkaEngineTime = 5 * time.Minute

// kafkaEngine lets ClickHouse read the log events itself, with its Kafka table engine and a
// materialized view that fills a table like the history's.
func (s *replayStand) kafkaEngine(ctx context.Context, records int64) (replayReport, error) {
	topic := eventlog.EventsTopic(schemas.Log)
	target := tables.Events()
	g := tables.Generation{Projection: "bench", Version: 1, Generation: 1}
	for _, sql := range []string{
		target.Create("kafka_events", g, tables.Options{}),
		fmt.Sprintf("CREATE TABLE kafka_queue (line String) ENGINE = Kafka SETTINGS kafka_broker_list = '%s', kafka_topic_list = '%s', "+
			"kafka_group_name = 'clickhouse_bench', kafka_format = 'LineAsString', kafka_max_block_size = 65536, kafka_poll_max_batch_size = 65536",
			s.broker.said["addr"], topic),
	} {
		if err := s.conn.Exec(ctx, sql); err != nil {
			return replayReport{}, err
		}
	}
	defer func() {
		for _, table := range []string{"kafka_view", "kafka_queue", "kafka_events"} {
			_ = s.conn.Exec(ctx, tables.Drop(table))
		}
	}()
	return s.measure("kafka_engine", records, s.bytes[topic], func() error {
		// The view does what the fold does: ids, envelope, payload as sent.
		view := "CREATE MATERIALIZED VIEW kafka_view TO kafka_events AS SELECT reinterpretAsFixedString(cityHash64(_topic, _partition)) || reinterpretAsFixedString(_offset) AS event_id, " +
			"_key AS project_id, JSONExtractString(line, 'type') AS type, parseDateTime64BestEffort(JSONExtractString(line, 'ts'), 9, 'UTC') AS ts, " +
			"toDateTime64(_timestamp_ms, 3, 'UTC') AS received_at, JSONExtractRaw(line, 'data') AS data, '' AS extra, toUInt32(_partition) AS partition, toInt64(_offset) AS offset FROM kafka_queue"
		if err := s.conn.Exec(ctx, view); err != nil {
			return err
		}
		return s.awaitRows(ctx, "kafka_events", records)
	})
}

func (s *replayStand) awaitRows(ctx context.Context, table string, want int64) error {
	ctx, cancel := context.WithTimeout(ctx, kafkaEngineTime)
	defer cancel()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		var rows uint64
		if err := s.conn.QueryRow(ctx, "SELECT count() FROM "+table).Scan(&rows); err != nil {
			return err
		}
		if int64(rows) >= want {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("only %d of %d rows arrived: %w", rows, want, ctx.Err())
		}
	}
}
