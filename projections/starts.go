package projections

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/eventlog"
	"weir/readmodel/tables"
)

// starts are the offsets at which a generation began, by partition. They are
// written before anything of a partition is planned, so a partition that is here
// and has no checkpoint has lost it.
type starts map[eventlog.TopicPartition]int64

// readStarts reads those of one generation.
func readStarts(ctx context.Context, conn driver.Conn, projection string, generation int) (starts, error) {
	ctx, cancel := steady(ctx)
	defer cancel()
	rows, err := conn.Query(ctx, "SELECT topic, `partition`, max(`offset`) FROM fold_starts WHERE projection = ? AND generation = ? GROUP BY topic, `partition`",
		projection, generation)
	if err != nil {
		return nil, fmt.Errorf("reading where generation %d of %s began: %w", generation, projection, err)
	}
	defer rows.Close()
	found := starts{}
	for rows.Next() {
		var topic string
		var partition uint32
		var offset int64
		if err := rows.Scan(&topic, &partition, &offset); err != nil {
			return nil, fmt.Errorf("reading where generation %d of %s began: %w", generation, projection, err)
		}
		found[eventlog.TopicPartition{Topic: topic, Partition: int(partition)}] = offset
	}
	return found, rows.Err()
}

// writeStarts notes where a generation begins in partitions that are new to it.
func writeStarts(ctx context.Context, conn driver.Conn, projection string, generation int, begun starts) error {
	if len(begun) == 0 {
		return nil
	}
	ctx, cancel := steady(ctx)
	defer cancel()
	t := tables.FoldStarts()
	batch, err := conn.PrepareBatch(ctx, t.Insert(t.Name))
	if err != nil {
		return fmt.Errorf("noting where generation %d of %s begins: %w", generation, projection, err)
	}
	for tp, offset := range begun {
		if err := batch.Append(projection, uint32(generation), tp.Topic, uint32(tp.Partition), offset); err != nil {
			_ = batch.Abort()
			return err
		}
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("noting where generation %d of %s begins: %w", generation, projection, err)
	}
	return nil
}

// begin makes sure that every partition of an assignment has a checkpoint and a
// start. It returns those that began and have no checkpoint any more: beginning
// again at their first offset would count their records twice.
func (p *Projector) begin(ctx context.Context, projection Projection, generation int, a *eventlog.Assignment) (map[eventlog.TopicPartition]error, error) {
	checkpoints, err := a.Checkpoints(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the checkpoints of %s: %w", Group(projection.Name, generation), err)
	}
	known, err := readStarts(ctx, p.cfg.ClickHouse, projection.Name, generation)
	if err != nil {
		return nil, err
	}
	lost, begun := map[eventlog.TopicPartition]error{}, starts{}
	for _, tp := range a.Partitions {
		_, knows := known[tp]
		c := checkpoints[tp]
		switch {
		case knows && c.Exists:
			continue
		case knows:
			lost[tp] = lostCheckpoint(projection, generation, tp)
			continue
		}
		first, err := p.firstOffset(ctx, tp)
		if err != nil {
			return nil, err
		}
		if !c.Exists {
			// In this order: a start without a checkpoint would look like a loss.
			if err := a.Advance(ctx, tp, first, eventlog.Witness{}); err != nil {
				return nil, fmt.Errorf("beginning %s partition %d at %d: %w", tp.Topic, tp.Partition, first, err)
			}
			c.Offset = first
		}
		begun[tp] = min(first, c.Offset)
	}
	return lost, writeStarts(ctx, p.cfg.ClickHouse, projection.Name, generation, begun)
}

// lostCheckpoints reports whether a generation has partitions that began and have
// no checkpoint any more.
func (p *Projector) lostCheckpoints(ctx context.Context, projection Projection, g tables.Generation) (bool, error) {
	known, err := readStarts(ctx, p.cfg.ClickHouse, projection.Name, g.Generation)
	if err != nil {
		return false, err
	}
	checkpoints, err := p.cfg.Log.Checkpoints(ctx, Group(projection.Name, g.Generation), projection.Topics)
	if err != nil {
		return false, err
	}
	for tp := range known {
		if !checkpoints[tp].Exists {
			return true, nil
		}
	}
	return false, nil
}

func topicPartition(topic string, partition int) eventlog.TopicPartition {
	return eventlog.TopicPartition{Topic: topic, Partition: partition}
}

func lostCheckpoint(projection Projection, generation int, tp eventlog.TopicPartition) error {
	return fmt.Errorf("%w: consumer group %s has no offset for %s partition %d any more, and its records may be in tables %s; folding it from the start could count them twice. "+
		"Its offsets were deleted, alone or with the topic, or expired while no projector ran: rebuild the projection (weir rebuild %s), which fills new tables and leaves these as they are until then",
		ErrHalted, Group(projection.Name, generation), tp.Topic, tp.Partition, projection.names(), projection.Name)
}

// firstOffset is the first offset that a partition still has.
func (p *Projector) firstOffset(ctx context.Context, tp eventlog.TopicPartition) (int64, error) {
	bounds, err := p.cfg.Log.Bounds(ctx, tp.Topic)
	if err != nil {
		return 0, fmt.Errorf("reading the bounds of %s: %w", tp.Topic, err)
	}
	for _, b := range bounds {
		if b.Partition == tp.Partition {
			return b.Start, nil
		}
	}
	return 0, fmt.Errorf("%w: %s partition %d", eventlog.ErrUnknownTopic, tp.Topic, tp.Partition)
}
