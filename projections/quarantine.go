package projections

import (
	"time"

	"weir/eventlog"
	"weir/readmodel/tables"
)

// quarantinePayload bounds what is kept of a record that no fold could take. The
// whole record is still in the log, at the offset beside it.
const quarantinePayload = 16 << 10

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
