package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"weir/eventlog"
	"weir/readmodel"
	"weir/readmodel/tables"
	"weir/schemas"
)

const (
	// kafkaEngineTime is how long ClickHouse's Kafka engine may take.
	kafkaEngineTime = 5 * time.Minute
	// kafkaEngineBlock is the rows it collects before it inserts; more made it no faster.
	kafkaEngineBlock = 65536
	// kafkaEngineRows are enough to know its pace.
	kafkaEngineRows = 12 * kafkaEngineBlock
	// kafkaEngineConsumers are two where there is more than one partition: as many as this
	// machine has processors. One was slower.
	kafkaEngineConsumers = 2
)

// kafkaEngineView is a read model as ClickHouse can fill it by itself: a table of the Kafka engine
// over the same topics, and materialized views that do what the fold does, as near as SQL comes.
type kafkaEngineView struct {
	topics []string
	counts string // the statement that counts the records that arrived
	views  []kafkaView
}

// kafkaView fills a table of ours with the rows of a statement over kafka_queue.
type kafkaView struct {
	table tables.Table
	query string
}

// kafkaEngineColumns are read by ClickHouse's own parser of JSON lines, once for each line; data
// keeps the text of the object.
const kafkaEngineColumns = "type LowCardinality(String), ts DateTime64(9, 'UTC'), data String"

const (
	kafkaEventID  = "reinterpretAsFixedString(cityHash64(_topic, _partition)) || reinterpretAsFixedString(_offset)"
	kafkaReceived = "toDateTime64(_timestamp_ms, 3, 'UTC')"
	kafkaGroup    = "reinterpretAsFixedString(sipHash128(_key, d.name, replaceRegexpAll(d.message, '[0-9]+', '#'), extractAll(d.stack, '\\n\\\\s+at (\\\\S+)')))"
)

func kafkaEngineViews() map[string]kafkaEngineView {
	topic := func(t schemas.Type) string { return eventlog.EventsTopic(t) }
	var all []string
	for _, t := range replayTypes {
		all = append(all, topic(t))
	}
	return map[string]kafkaEngineView{
		readmodel.History: {all, "SELECT count() FROM kafka_events", []kafkaView{{
			tables.Events(),
			"SELECT " + kafkaEventID + " AS event_id, _key AS project_id, type, ts, " + kafkaReceived + " AS received_at, data, '' AS extra, " +
				"toUInt32(_partition) AS partition, toInt64(_offset) AS offset FROM kafka_queue",
		}}},
		readmodel.ErrorGroups: {[]string{topic(schemas.Error)}, "SELECT count() FROM kafka_error_occurrences", []kafkaView{
			{tables.ErrorOccurrences(), "WITH JSONExtract(data, 'Tuple(name String, message String, release String, environment String, service String, stack String, request String)') AS d " +
				"SELECT _key AS project_id, " + kafkaGroup + " AS fingerprint, ts, " + kafkaEventID + " AS event_id, " + kafkaReceived + " AS received_at, " +
				"d.name AS name, d.message AS message, '' AS culprit, d.release AS release, d.environment AS environment, d.service AS service, " +
				"d.stack AS stack, d.request AS request, '' AS metadata, toUInt32(_partition) AS partition, toInt64(_offset) AS offset FROM kafka_queue"},
			{tables.ErrorGroupHours(), "WITH JSONExtract(data, 'Tuple(name String, message String, stack String)') AS d " +
				"SELECT _key AS project_id, " + kafkaGroup + " AS fingerprint, toDateTime64(toStartOfHour(ts), 0, 'UTC') AS hour, count() AS count " +
				"FROM kafka_queue GROUP BY project_id, fingerprint, hour"},
		}},
		readmodel.Costs: {[]string{topic(schemas.Cost)}, "SELECT sum(events) FROM kafka_cost_rollups", []kafkaView{{
			tables.CostRollups(),
			"WITH JSONExtract(data, 'Tuple(provider String, service String, region String, currency String, amount String)') AS d " +
				"SELECT _key AS project_id, toDate32(ts) AS day, upper(d.currency) AS currency, d.provider AS provider, d.service AS service, d.region AS region, " +
				"sum(toDecimal256(d.amount, 38)) AS amount, count() AS events FROM kafka_queue GROUP BY project_id, day, currency, provider, service, region",
		}}},
	}
}

// kafkaEngine lets ClickHouse fill a read model by itself.
func (s *replayStand) kafkaEngine(ctx context.Context, name string) (replayReport, error) {
	view, ok := kafkaEngineViews()[name]
	if !ok {
		return replayReport{}, errNoKafkaEngine
	}
	_, records, bytes, err := s.ends(ctx, view.topics)
	if err != nil {
		return replayReport{}, err
	}
	if err := s.kafkaTables(ctx, view); err != nil {
		return replayReport{}, err
	}
	defer s.dropKafkaTables(ctx, view)
	// Its last block is an incomplete one, for which it waits for more: the clock stops before it.
	consumers := min(kafkaEngineConsumers, len(view.topics))
	enough := min(records-int64(consumers*kafkaEngineBlock), kafkaEngineRows)
	var arrived int64
	report, err := s.measure(name, records, bytes, func() error {
		for i, v := range view.views {
			sql := fmt.Sprintf("CREATE MATERIALIZED VIEW kafka_view%d TO kafka_%s AS %s", i, v.table.Name, v.query)
			if err := s.conn.Exec(ctx, sql); err != nil {
				return err
			}
		}
		arrived, err = s.awaitRows(ctx, view.counts, enough)
		return err
	})
	report.Engine = engineKafka
	return report.of(arrived), err
}

// errNoKafkaEngine means that SQL has nothing like that read model.
var errNoKafkaEngine = errors.New("there is no view for it")

func (s *replayStand) kafkaTables(ctx context.Context, view kafkaEngineView) error {
	s.kafkaRuns++
	for _, v := range view.views {
		g := tables.Generation{Projection: "bench", Version: 1, Generation: 1}
		if err := s.conn.Exec(ctx, v.table.Create("kafka_"+v.table.Name, g, tables.Options{})); err != nil {
			return err
		}
	}
	return s.conn.Exec(ctx, fmt.Sprintf("CREATE TABLE kafka_queue (%s) ENGINE = Kafka SETTINGS kafka_broker_list = '%s', kafka_topic_list = '%s', "+
		"kafka_group_name = 'clickhouse_bench_%d', kafka_format = 'JSONEachRow', kafka_num_consumers = %d, kafka_thread_per_consumer = 1, "+
		"kafka_max_block_size = %d, kafka_poll_max_batch_size = %d, input_format_json_read_objects_as_strings = 1, date_time_input_format = 'best_effort', "+
		"input_format_skip_unknown_fields = 1",
		kafkaEngineColumns, s.broker.said["addr"], strings.Join(view.topics, ","), s.kafkaRuns,
		min(kafkaEngineConsumers, len(view.topics)), kafkaEngineBlock, kafkaEngineBlock))
}

func (s *replayStand) dropKafkaTables(ctx context.Context, view kafkaEngineView) {
	for i, v := range view.views {
		_ = s.conn.Exec(ctx, tables.Drop(fmt.Sprintf("kafka_view%d", i)))
		defer func() { _ = s.conn.Exec(ctx, tables.Drop("kafka_"+v.table.Name)) }()
	}
	_ = s.conn.Exec(ctx, tables.Drop("kafka_queue"))
}

// awaitRows waits until a statement counts that many, and returns what it counts.
func (s *replayStand) awaitRows(ctx context.Context, counts string, want int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, kafkaEngineTime)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		var rows uint64
		if err := s.conn.QueryRow(ctx, counts).Scan(&rows); err != nil {
			return 0, err
		}
		if int64(rows) >= want {
			return int64(rows), nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return 0, fmt.Errorf("only %d of %d rows arrived: %w", rows, want, ctx.Err())
		}
	}
}
