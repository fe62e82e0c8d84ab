package receipts

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"weir/eventlog"
)

// readBytes is what one look into the log asks for; a larger record comes whole.
const readBytes = 64 << 10

// readBack fetches a key's answer from the log.
func (f *Flight) readBack(ctx context.Context, at place) (*Answer, error) {
	r, err := f.book.recordAt(ctx, eventlog.ReceiptsTopic, at.partition, at.offset)
	if err != nil {
		return nil, err
	}
	rec, err := parseRecord(r.Value)
	if err != nil || !rec.receipt || r.Batch != f.hash {
		return nil, fmt.Errorf("receipts: %s partition %d offset %d holds no receipt of the key: was the topic truncated? restart the gateway",
			eventlog.ReceiptsTopic, at.partition, at.offset)
	}
	f.book.count.replayed.Inc()
	return &Answer{Body: bytes.Clone(rec.body), Positions: rec.positions}, nil
}

func (b *Book) recordAt(ctx context.Context, topic string, partition int, offset int64) (eventlog.Record, error) {
	c, err := b.cfg.Log.Fetch(ctx, topic, partition, offset, readBytes, time.Second)
	if err != nil {
		return eventlog.Record{}, err
	}
	for i := range c.Records {
		if c.Records[i].Offset >= offset {
			return c.Records[i], nil
		}
	}
	return eventlog.Record{}, fmt.Errorf("receipts: %s partition %d has nothing at offset %d", topic, partition, offset)
}
