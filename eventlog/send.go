package eventlog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

const (
	produceVersion      = 8
	initProducerVersion = 1
)

// producer is the identity under which one partition is written. Sequences count
// records and are used once: when the fate of one stays unknown, the producer is
// dropped and the next record batch begins with another, because the broker
// would take a reused sequence for a repetition and drop the batch.
type producer struct {
	known bool
	mark  producerMark
}

// fate is what an answer says about a record batch.
type fate uint8

const (
	applied   fate = iota
	again          // not applied: the same again
	uncertain      // perhaps applied: the same again, with the same sequence
	renew          // the broker does not take this producer or sequence
	final          // not applied, and never will be
)

// fates by error code; what is not here is uncertain.
var fates = map[kafka.Error]fate{
	kafka.InvalidMessage:                     again, // damaged on the way
	kafka.LeaderNotAvailable:                 again,
	kafka.NotEnoughReplicas:                  again,
	kafka.OutOfOrderSequenceNumber:           renew,
	kafka.DuplicateSequenceNumber:            renew,
	kafka.UnknownProducerId:                  renew,
	kafka.InvalidProducerEpoch:               renew,
	kafka.InvalidProducerIDMapping:           renew,
	kafka.ProducerFenced:                     renew,
	kafka.MessageSizeTooLarge:                final,
	kafka.RecordListTooLarge:                 final,
	kafka.TopicAuthorizationFailed:           final,
	kafka.ClusterAuthorizationFailed:         final,
	kafka.InvalidRecord:                      final,
	kafka.InvalidTimestamp:                   final,
	kafka.InvalidRequiredAcks:                final,
	kafka.InvalidTopic:                       final,
	kafka.UnsupportedForMessageFormat:        final,
	kafka.PolicyViolation:                    final,
	kafka.UnsupportedVersion:                 final,
	kafka.TransactionalIDAuthorizationFailed: final,
}

func fateOf(err error) fate {
	var code kafka.Error
	if !errors.As(err, &code) {
		return uncertain
	}
	if f, ok := fates[code]; ok {
		return f
	}
	return uncertain
}

// send produces the group until its fate is known or its deadline is over.
func (a *appender) send(g *group) (int64, error) {
	ctx, cancel := context.WithDeadline(a.log.ctx, g.deadline)
	defer cancel()
	request, err := a.request(g)
	if err != nil {
		return 0, err
	}
	var pause backoff
	for {
		if !g.ambiguous && a.forsaken(g) {
			return 0, fmt.Errorf("%w: nobody waits for the append any more", ErrUnavailable)
		}
		base, err := a.attempt(ctx, request, g)
		switch a.judge(g, err) {
		case applied:
			a.producer.mark.sequence += int32(g.batch.count)
			return base, nil
		case final:
			return 0, a.refused(g, err)
		case renew:
			if g.ambiguous {
				return 0, a.givenUp(g, err)
			}
			a.producer.known = false
		case again, uncertain:
		}
		a.log.metrics.retries.WithLabelValues(a.topic).Inc()
		if pause.wait(ctx) != nil {
			return 0, a.givenUp(g, err)
		}
	}
}

// attempt produces once. The request is sealed anew only for another producer,
// which is taken only when no earlier attempt can still be on its way.
func (a *appender) attempt(ctx context.Context, request []byte, g *group) (int64, error) {
	if err := a.identify(ctx, g.batch.count); err != nil {
		return 0, unsentError{err}
	}
	if !g.sealed || g.batch.producer != a.producer.mark {
		a.seal(request, g)
	}
	return a.produce(ctx, request, g)
}

// request is the whole produce request, its records compressed if so set.
func (a *appender) request(g *group) ([]byte, error) {
	if g.batch.compression == Uncompressed {
		return g.buf, nil
	}
	head := len(a.frame) + batchHeader
	packed, err := pack(append(make([]byte, 0, len(g.buf)/2+head), g.buf[:head]...), g.batch.compression, g.buf[head:])
	if err != nil {
		return nil, fmt.Errorf("%w: compress records for %s: %w", ErrRefused, a.topic, err)
	}
	return packed, nil
}

// judge takes note of what an attempt left behind and says what comes next.
func (a *appender) judge(g *group, err error) fate {
	if err == nil {
		return applied
	}
	var unsent unsentError
	if errors.As(err, &unsent) {
		return again
	}
	f := fateOf(err)
	if f == uncertain {
		g.ambiguous = true
	}
	return f
}

// refused ends a group the broker will not take. A sequence some earlier attempt
// may have used is not used again.
func (a *appender) refused(g *group, err error) error {
	if g.ambiguous {
		return a.givenUp(g, err)
	}
	if errors.Is(err, kafka.MessageSizeTooLarge) || errors.Is(err, kafka.RecordListTooLarge) {
		return fmt.Errorf("%w: %s takes less than %d bytes: %w; raise its max.message.bytes", ErrTooLarge, a.topic, len(g.buf), err)
	}
	return fmt.Errorf("%w: append to %s partition %d: %w", ErrRefused, a.topic, a.partition, err)
}

// givenUp ends a group whose time is over.
func (a *appender) givenUp(g *group, err error) error {
	fate := "not appended"
	if g.ambiguous {
		a.producer.known = false
		fate = "may be in the log"
	}
	a.log.cfg.Logger.Warn("append given up", "topic", a.topic, "partition", a.partition, "records", g.batch.count, "fate", fate, "error", err)
	return fmt.Errorf("%w: append to %s partition %d (%s): %w", ErrUnavailable, a.topic, a.partition, fate, err)
}

// identify makes sure of a producer whose sequence has room for count records.
func (a *appender) identify(ctx context.Context, count int) error {
	if a.producer.known && int(a.producer.mark.sequence) <= math.MaxInt32-count {
		return nil
	}
	frame := newFrame(nil, protocol.InitProducerId, initProducerVersion, a.log.cfg.ClientID)
	frame = appendInt32(appendNull(frame), 0)
	body, err := a.log.exchange(ctx, &call{key: protocol.InitProducerId, frame: finishFrame(frame)}, a.log.cfg.RequestTimeout)
	if err != nil {
		return err
	}
	r := reader{rest: body}
	r.int32() // throttle
	code := r.int16()
	mark := producerMark{id: r.int64(), epoch: r.int16()}
	if err := errors.Join(r.err(), codeError(code)); err != nil {
		return err
	}
	a.producer = producer{known: true, mark: mark}
	return nil
}

// seal fills in everything that comes before the records.
func (a *appender) seal(request []byte, g *group) {
	g.sealed = true
	g.batch.producer = a.producer.mark
	batch := request[len(a.frame):]
	putBatchHeader(batch, g.batch)
	putInt32(request[len(a.frame)-4:], len(batch))
	finishFrame(request)
}

// produceFrame is the produce request for one partition up to the length of its
// records. The broker may take half of timeout to reach its replicas.
func produceFrame(clientID, topic string, partition int, timeout time.Duration) []byte {
	b := newFrame(nil, protocol.Produce, produceVersion, clientID)
	b = appendNull(b)      // no transaction
	b = appendInt16(b, -1) // acks of all in-sync replicas
	b = appendInt32(b, int32(timeout.Milliseconds()/2))
	b = appendInt32(b, 1)
	b = appendString(b, topic)
	b = appendInt32(b, 1)
	b = appendInt32(b, int32(partition))
	return appendInt32(b, 0) // length of the records
}

// produce makes one attempt.
func (a *appender) produce(ctx context.Context, request []byte, g *group) (int64, error) {
	c := &partitionCall{call: &call{key: protocol.Produce, frame: request}, topic: a.topic, partition: a.partition}
	body, err := a.log.exchange(ctx, c, a.log.cfg.RequestTimeout)
	if err != nil {
		if c.abandon() {
			return 0, unsentError{err}
		}
		g.retained = true
		return 0, err
	}
	return readProduced(body)
}

func readProduced(body []byte) (base int64, err error) {
	r := reader{rest: body}
	topics := r.count(2)
	r.string()
	partitions := r.count(4)
	r.int32() // partition
	code := r.int16()
	base = r.int64()
	if topics != 1 || partitions != 1 || r.bad {
		return 0, errReply
	}
	return base, codeError(code)
}

// unsentError is a failure that happened before anything was sent.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }
