package projections

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/eventlog"
	"weir/readmodel/tables"
)

// quarantinePayload bounds what is kept of a record that no fold could take. The
// whole record is still in the log, at the offset beside it.
const quarantinePayload = 16 << 10

// inQuarantine is the condition for the records of one generation that are in
// quarantine: those that were retried are not any more.
func inQuarantine(projection string, generation int) string {
	whose := fmt.Sprintf("projection = '%s' AND generation = %d", projection, generation) // a name of ours: lower-case letters
	return whose + " AND (topic, `partition`, `offset`) NOT IN (SELECT topic, `partition`, `offset` FROM quarantine_retries WHERE " + whose +
		fmt.Sprintf(" GROUP BY topic, `partition`, `offset` HAVING tupleElement(max(latest), 2) = %d)", tables.RetryDone)
}

// readQuarantine reads where the records in quarantine are that a condition names.
func readQuarantine(ctx context.Context, conn driver.Conn, table, condition string, args ...any) (map[place]struct{}, error) {
	rows, err := conn.Query(ctx, "SELECT toString(topic), `partition`, `offset` FROM `"+table+"` WHERE "+condition, args...)
	if err != nil {
		return nil, fmt.Errorf("reading the quarantine: %w", err)
	}
	defer rows.Close()
	found := map[place]struct{}{}
	for rows.Next() {
		var topic string
		var partition uint32
		var offset int64
		if err := rows.Scan(&topic, &partition, &offset); err != nil {
			return nil, fmt.Errorf("reading the quarantine: %w", err)
		}
		found[place{topicPartition(topic, int(partition)), offset}] = struct{}{}
	}
	return found, rows.Err()
}

// quarantineRows are the columns of tables.Quarantine.
type quarantineRows struct {
	projection, topic, project, eventID, reason, payload []string
	generation, partition                                []uint32
	offset                                               []int64
	received                                             []time.Time
	size                                                 []uint64
}

func (q *quarantineRows) add(projection string, generation int, r *eventlog.Record, reason string) {
	id := r.EventID()
	q.projection = append(q.projection, projection)
	q.generation = append(q.generation, uint32(generation))
	q.topic = append(q.topic, r.Topic)
	q.partition = append(q.partition, uint32(r.Partition))
	q.offset = append(q.offset, r.Offset)
	q.received = append(q.received, r.Time)
	q.project = append(q.project, Text(r.Key))
	q.eventID = append(q.eventID, string(id[:]))
	q.reason = append(q.reason, reason)
	q.payload = append(q.payload, Text(r.Value[:min(len(r.Value), quarantinePayload)]))
	q.size = append(q.size, uint64(len(r.Value)))
}

func (q *quarantineRows) block() Block {
	return Block{
		Table: tables.Quarantine(),
		Columns: []any{
			q.projection, q.generation, q.topic, q.partition, q.offset, q.received,
			q.project, q.eventID, q.reason, q.payload, q.size,
		},
		Rows: len(q.offset),
	}
}

func (q *quarantineRows) reset() { *q = quarantineRows{} }
