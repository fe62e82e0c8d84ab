package receipts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"weir/eventlog"
)

// ErrOtherBody means that the key was used for another body, part of which is in
// the log, by a gateway that died before it could end it: only that body can be
// ended under the key. Over HTTP: 400.
var ErrOtherBody = errors.New("the key belongs to another batch, which was begun and not ended")

// endOther ends what another body began under the key, as its new owner: when all
// of it was appended, with its receipt, and its answer is the key's. Nil and no
// error: nothing of it was appended, and the key is free for this body.
func (f *Flight) endOther(ctx context.Context) (*Answer, error) {
	began, err := f.firstClaim(ctx)
	if err != nil {
		return nil, err
	}
	var topics []string
	if began.topics != "" {
		topics = strings.Split(began.topics, ",")
	}
	found, err := f.findAll(ctx, topics)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0 && len(topics) > 0:
		return nil, nil
	case len(found) < len(topics) || len(began.body) == 0:
		return nil, ErrOtherBody
	}
	a, err := f.Settle(ctx, Answer{Body: began.body, Positions: found.String()})
	if err != nil {
		return nil, err
	}
	f.book.count.replayed.Inc()
	return &a, nil
}

func (f *Flight) firstClaim(ctx context.Context) (record, error) {
	at := f.mine.first
	r, err := f.book.recordAt(ctx, eventlog.ReceiptsTopic, at.partition, at.offset)
	if err != nil {
		return record{}, err
	}
	began, err := parseRecord(r.Value)
	if err != nil || began.receipt || r.Batch != f.hash {
		return record{}, fmt.Errorf("receipts: %s partition %d offset %d holds no claim of the key: was the topic truncated? restart the gateway",
			eventlog.ReceiptsTopic, at.partition, at.offset)
	}
	return began, nil
}

// findAll looks for the batch in the topics; what is not there has no position.
func (f *Flight) findAll(ctx context.Context, topics []string) (found eventlog.Positions, err error) {
	batch, since := batchOf(f.hash, f.mine.origin), time.UnixMilli(f.mine.origin)
	for _, topic := range topics {
		at, ok, err := f.book.Find(ctx, topic, batch, since)
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, at)
		}
	}
	return found, nil
}
