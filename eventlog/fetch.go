package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

const fetchVersion = 11

// readCommitted: records of transactions that are open or aborted are not read.
// Ours are never part of one.
const readCommitted = 1

// Chunk is what one Fetch brought: records of one partition in log order.
type Chunk struct {
	Records []Record

	// Next is the offset to fetch from next. It can be larger than the last
	// record's offset plus one, and move without any record: the log also holds
	// what is not for readers, and has gaps where records were compacted away.
	Next int64

	// HighWatermark is the end of what can be read now, LogStart the first
	// offset that is kept.
	HighWatermark, LogStart int64

	// FirstEpoch and LastEpoch are the leader epochs of the first and last record
	// batch; both -1 when there is none. Between two leaders a log may have been cut
	// short: a chunk that begins with another epoch than the last one ended with may
	// not be its continuation.
	FirstEpoch, LastEpoch int32
}

// Fetch reads records of one partition from offset on. It waits up to maxWait for
// the first one and then returns what there is, about maxBytes of it but at least
// one record batch. An empty chunk with Next equal to offset means that nothing
// has arrived.
//
// Errors: ErrUnavailable (retry with a pause), ErrBehindRetention, ErrPastEnd and
// ErrCorrupt (stop and tell a human), ErrUnknownTopic. It never skips a record.
// It may be called at once from everywhere; each call that waits uses a connection.
func (l *Log) Fetch(ctx context.Context, topic string, partition int, offset int64, maxBytes int, maxWait time.Duration) (Chunk, error) {
	if n := l.Partitions(topic); partition < 0 || partition >= n {
		return Chunk{}, fmt.Errorf("%w: %s partition %d, the topic has %d", ErrUnknownTopic, topic, partition, n)
	}
	if offset < 0 {
		return Chunk{}, fmt.Errorf("%w: %s partition %d: offset %d", ErrBehindRetention, topic, partition, offset)
	}
	frame := fetchFrame(l.cfg.ClientID, topic, partition, offset, maxBytes, maxWait)
	c := &partitionCall{call: &call{key: protocol.Fetch, frame: frame}, topic: topic, partition: partition}
	body, err := l.exchange(ctx, c, maxWait+l.cfg.RequestTimeout)
	if err != nil {
		return Chunk{}, l.fetchError(ctx, topic, partition, offset, err)
	}
	answer, err := readFetched(body)
	if err != nil {
		return Chunk{}, l.fetchError(ctx, topic, partition, offset, err)
	}
	d := decoder{topic: topic, partition: partition, from: offset, next: offset, pending: answer.aborted, firstEpoch: noEpoch, lastEpoch: noEpoch}
	if err := d.decode(answer.records); err != nil {
		return Chunk{}, err
	}
	l.metrics.fetched.WithLabelValues(topic).Add(float64(len(d.records)))
	return Chunk{Records: d.records, Next: d.next, HighWatermark: answer.end, LogStart: answer.start, FirstEpoch: d.firstEpoch, LastEpoch: d.lastEpoch}, nil
}

func fetchFrame(clientID, topic string, partition int, offset int64, maxBytes int, maxWait time.Duration) []byte {
	b := newFrame(make([]byte, 0, 128+len(topic)), protocol.Fetch, fetchVersion, clientID)
	b = appendInt32(b, -1) // a client, not a replica
	b = appendInt32(b, int32(maxWait.Milliseconds()))
	b = appendInt32(b, 1)
	b = appendInt32(b, int32(maxBytes))
	b = append(b, readCommitted)
	b = appendInt32(b, 0)  // no session
	b = appendInt32(b, -1) // of any epoch
	b = appendInt32(b, 1)
	b = appendString(b, topic)
	b = appendInt32(b, 1)
	b = appendInt32(b, int32(partition))
	b = appendInt32(b, -1) // leader epoch not checked
	b = appendInt64(b, offset)
	b = appendInt64(b, -1) // log start: for replicas
	b = appendInt32(b, int32(maxBytes))
	b = appendInt32(b, 0)   // forgotten topics: for sessions
	b = appendString(b, "") // rack
	return finishFrame(b)
}

// fetched is the part of a fetch answer that is used.
type fetched struct {
	end, start int64
	aborted    []aborted
	records    []byte
}

func readFetched(body []byte) (f fetched, err error) {
	r := reader{rest: body}
	r.int32() // throttle
	if err := codeError(r.int16()); err != nil {
		return f, err
	}
	r.int32() // session
	topics := r.count(2)
	r.string()
	partitions := r.count(4)
	r.int32() // partition
	code := r.int16()
	high := r.int64()
	stable := r.int64()
	f.start = r.int64()
	for range r.count(16) {
		f.aborted = append(f.aborted, aborted{producer: r.int64(), first: r.int64()})
	}
	r.int32() // preferred replica
	f.records = r.bytes()
	if code != 0 {
		return f, codeError(code)
	}
	if topics != 1 || partitions != 1 || r.bad {
		return f, errReply
	}
	f.end = high
	if stable >= 0 {
		f.end = stable
	}
	return f, nil
}

// fetchError sorts a failure. An offset out of range is looked at more closely: it
// is never answered by another offset.
func (l *Log) fetchError(ctx context.Context, topic string, partition int, offset int64, err error) error {
	where := fmt.Sprintf("fetch %s partition %d offset %d", topic, partition, offset)
	switch {
	case errors.Is(err, kafka.TopicAuthorizationFailed):
		return fmt.Errorf("%w: %s: %w", ErrRefused, where, err)
	case !errors.Is(err, kafka.OffsetOutOfRange):
		return fmt.Errorf("%w: %s: %w", ErrUnavailable, where, err)
	}
	bounds, errBounds := l.partitionBounds(ctx, topic, []int{partition})
	if errBounds != nil {
		return fmt.Errorf("%w: %s: %w", ErrUnavailable, where, errors.Join(err, errBounds))
	}
	switch b := bounds[0]; {
	case offset < b.Start:
		return fmt.Errorf("%w: %s, the first one kept is %d", ErrBehindRetention, where, b.Start)
	case offset > b.End:
		return fmt.Errorf("%w: %s, the end is %d", ErrPastEnd, where, b.End)
	}
	return fmt.Errorf("%w: %s: the brokers do not agree on the log's bounds: %w", ErrUnavailable, where, err)
}
