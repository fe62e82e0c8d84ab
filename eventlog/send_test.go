package eventlog

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"weir/internal/broker"
)

// fault makes the next produces to the partition fail; the broker applies those
// that RequestTimedOut and NotEnoughReplicasAfterAppend answer, and no others.
func fault(b *broker.Broker, partition int32, count int, codes ...*kerr.Error) *kfake.FaultHandle {
	var faults []kfake.Fault
	for _, code := range codes {
		faults = append(faults, kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: testTopic, Partitions: []int32{partition}, Err: code, Count: count})
	}
	return b.Cluster().Fault(faults...)
}

// TestProduceRetried: each of these answers is followed by another attempt, after
// which the set is in the log once, and the next set too.
func TestProduceRetried(t *testing.T) {
	b := startBroker(t, broker.Config{})
	for _, codes := range [][]*kerr.Error{
		{kerr.NotLeaderForPartition}, {kerr.LeaderNotAvailable}, {kerr.UnknownTopicOrPartition},
		{kerr.NotEnoughReplicas}, {kerr.NotEnoughReplicasAfterAppend}, {kerr.RequestTimedOut},
		{kerr.CorruptMessage}, {kerr.KafkaStorageError}, {kerr.UnknownServerError},
		{kerr.OutOfOrderSequenceNumber}, {kerr.UnknownProducerID}, {kerr.InvalidProducerEpoch}, {kerr.DuplicateSequenceNumber},
		{kerr.RequestTimedOut, kerr.NotLeaderForPartition, kerr.NotEnoughReplicasAfterAppend},
		{kerr.NotEnoughReplicas, kerr.OutOfOrderSequenceNumber, kerr.RequestTimedOut},
	} {
		t.Run(codes[0].Message, func(t *testing.T) {
			l := openLog(t, testConfig(t, b.Addrs()))
			before := batches(t, l, 0)
			h := fault(b, 0, 1, codes...)
			for i := range byte(3) {
				if _, err := l.Append(within(t, 30*time.Second), testTopic, 0, oneSet('a'+i, 2)); err != nil {
					t.Fatal(err)
				}
			}
			if got := batches(t, l, 0); got != before+"aabbcc" {
				t.Errorf("log holds %q, want %q", got[len(before):], "aabbcc")
			}
			if h.Hits() != len(codes) {
				t.Errorf("%d of %d faults were hit", h.Hits(), len(codes))
			}
		})
	}
}

// TestProduceFinal: these answers end the append at once, and the sequence goes on.
func TestProduceFinal(t *testing.T) {
	b := startBroker(t, broker.Config{})
	for _, c := range []struct {
		code *kerr.Error
		want error
	}{{kerr.MessageTooLarge, ErrTooLarge}, {kerr.TopicAuthorizationFailed, ErrRefused}, {kerr.InvalidTimestamp, ErrRefused}, {kerr.InvalidRecord, ErrRefused}} {
		t.Run(c.code.Message, func(t *testing.T) {
			l := openLog(t, testConfig(t, b.Addrs()))
			before := batches(t, l, 0)
			if _, err := l.Append(within(t, 30*time.Second), testTopic, 0, oneSet('a', 1)); err != nil {
				t.Fatal(err)
			}
			fault(b, 0, 1, c.code)
			if _, err := l.Append(within(t, 30*time.Second), testTopic, 0, oneSet('b', 1)); !errors.Is(err, c.want) {
				t.Errorf("append: %v, want %v", err, c.want)
			}
			if _, err := l.Append(within(t, 30*time.Second), testTopic, 0, oneSet('c', 1)); err != nil {
				t.Fatal(err)
			}
			if got := batches(t, l, 0); got != before+"ac" {
				t.Errorf("log holds %q, want %q", got[len(before):], "ac")
			}
		})
	}
}

// TestProduceUncertain: a sequence refused after an attempt that may have been
// applied is not tried under another producer, or the set could be doubled. The
// next set uses a new producer, or it could be dropped.
func TestProduceUncertain(t *testing.T) {
	b := startBroker(t, broker.Config{})
	l := openLog(t, testConfig(t, b.Addrs()))
	if _, err := l.Append(within(t, 30*time.Second), testTopic, 0, oneSet('a', 2)); err != nil {
		t.Fatal(err)
	}
	fault(b, 0, 1, kerr.RequestTimedOut, kerr.OutOfOrderSequenceNumber)
	if _, err := l.Append(within(t, 30*time.Second), testTopic, 0, oneSet('b', 2)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("append: %v, want ErrUnavailable", err)
	}
	first, err := l.Append(within(t, 30*time.Second), testTopic, 0, oneSet('c', 2))
	if err != nil || first != 4 {
		t.Errorf("next append at %d, %v; want 4", first, err)
	}
	if got := batches(t, l, 0); got != "aabbcc" {
		t.Errorf("log holds %q", got)
	}
}

// TestSequenceEnds: before the sequence would overflow another producer is taken.
func TestSequenceEnds(t *testing.T) {
	b := startBroker(t, broker.Config{})
	l := openLog(t, testConfig(t, b.Addrs()))
	if _, err := l.Append(within(t, 30*time.Second), testTopic, 0, oneSet('a', 2)); err != nil {
		t.Fatal(err)
	}
	a, err := l.appender(testTopic, 0)
	if err != nil {
		t.Fatal(err)
	}
	a.idle.Wait() // nobody sends, so its producer is ours
	old := a.producer.mark.id
	a.producer.mark.sequence = math.MaxInt32 - 1
	if _, err := l.Append(within(t, 30*time.Second), testTopic, 0, oneSet('b', 2)); err != nil {
		t.Fatal(err)
	}
	a.idle.Wait()
	if a.producer.mark.id == old || a.producer.mark.sequence != 2 {
		t.Errorf("producer %+v follows %d", a.producer.mark, old)
	}
	if got := batches(t, l, 0); got != "aabb" {
		t.Errorf("log holds %q", got)
	}
}

// TestTroubleStaysInPartition: while one partition takes nothing and its sets fill
// half of the budget, another goes on as ever, and the callers of the first get
// their errors in time.
func TestTroubleStaysInPartition(t *testing.T) {
	b := startBroker(t, broker.Config{})
	cfg := testConfig(t, b.Addrs())
	cfg.MaxRecordBatchBytes = 1 << 20
	cfg.AppendBudget = 2 << 20
	cfg.AppendTimeout = time.Second
	l := openLog(t, cfg)
	h := fault(b, 0, -1, kerr.NotEnoughReplicas)
	big := Set{Key: []byte("prj"), Time: time.Now(), Values: [][]byte{make([]byte, 600<<10)}}
	stuck := make(chan error, 1)
	go func() {
		_, err := l.Append(within(t, 30*time.Second), testTopic, 0, big)
		stuck <- err
	}()
	if err := h.Wait(within(t, 30*time.Second), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(within(t, 30*time.Second), testTopic, 0, big); !errors.Is(err, ErrOverloaded) {
		t.Errorf("append over half of the budget: %v, want ErrOverloaded", err)
	}
	if _, err := l.Append(within(t, 30*time.Second), testTopic, 1, big); err != nil {
		t.Errorf("append to the other partition: %v", err)
	}
	if err := <-stuck; !errors.Is(err, ErrUnavailable) {
		t.Errorf("append to the stuck partition: %v, want ErrUnavailable", err)
	}
	h.Remove()
	if _, err := l.Append(within(t, 30*time.Second), testTopic, 0, big); err != nil {
		t.Errorf("append after the trouble: %v", err)
	}
	if got := len(batches(t, l, 0)); got != 1 {
		t.Errorf("the partition holds %d records, want 1", got)
	}
}

// TestForsaken: a set whose caller has gone before it was ever sent is not sent.
func TestForsaken(t *testing.T) {
	b := startBroker(t, broker.Config{})
	l := openLog(t, testConfig(t, b.Addrs()))
	h := fault(b, 0, -1, kerr.NotEnoughReplicas)
	if _, err := l.Append(within(t, 50*time.Millisecond), testTopic, 0, oneSet('a', 1)); !errors.Is(err, ErrUnavailable) {
		t.Fatalf("append: %v, want ErrUnavailable", err)
	}
	a, err := l.appender(testTopic, 0)
	if err != nil {
		t.Fatal(err)
	}
	a.idle.Wait()
	h.Remove()
	if _, err := l.Append(within(t, 30*time.Second), testTopic, 0, oneSet('b', 1)); err != nil {
		t.Fatal(err)
	}
	if got := batches(t, l, 0); got != "b" {
		t.Errorf("log holds %q", got)
	}
}
