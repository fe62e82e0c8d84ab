package eventlogtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"weir/eventlog"
)

// bounds: start, end, and loud errors beyond the end.
func bounds(t *testing.T, s *suite) {
	topic := unique(t)
	l := s.open(t, topic, 3, nil)
	mustAppend(t, l, topic, 1, set(1, 5))
	got, err := l.Bounds(patient(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	want := []eventlog.Bounds{{Partition: 0}, {Partition: 1, End: 5}, {Partition: 2}}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("bounds %+v, want %+v", got[i], want[i])
		}
	}
	c, err := l.Fetch(patient(t), topic, 1, 3, 1, time.Second)
	if err != nil || len(c.Records) != 2 || c.Records[0].Offset != 3 || c.Next != 5 || c.HighWatermark != 5 {
		t.Errorf("fetch from the middle of a record batch: %+v, %v", c, err)
	}
	c, err = l.Fetch(patient(t), topic, 1, 5, 1<<20, 50*time.Millisecond)
	if err != nil || len(c.Records) != 0 || c.Next != 5 {
		t.Errorf("fetch at the end: %+v, %v", c, err)
	}
	if _, err = l.Fetch(patient(t), topic, 1, 6, 1<<20, time.Second); !errors.Is(err, eventlog.ErrPastEnd) {
		t.Errorf("fetch past the end: %v, want ErrPastEnd", err)
	}
}

// behindRetention: a deleted offset is an error, never a jump; a tail from the
// first offset begins behind it.
func behindRetention(t *testing.T, s *suite) {
	topic := unique(t)
	l := s.open(t, topic, 1, nil)
	for i := range 4 {
		mustAppend(t, l, topic, 0, set(byte(i), 5))
	}
	deleteBefore(t, s.client(t), topic, 12)
	if _, err := l.Fetch(patient(t), topic, 0, 7, 1<<20, time.Second); !errors.Is(err, eventlog.ErrBehindRetention) {
		t.Errorf("fetch of a deleted offset: %v, want ErrBehindRetention", err)
	}
	c, err := l.Fetch(patient(t), topic, 0, 12, 1<<20, time.Second)
	if err != nil || len(c.Records) == 0 || c.Records[0].Offset != 12 || c.LogStart != 12 {
		t.Errorf("fetch of the first offset: %+v, %v", c, err)
	}
	first := int64(-1)
	err = l.Tail(patient(t), topic, eventlog.First, func(records []eventlog.Record) error {
		if records == nil {
			return errStop
		}
		if first < 0 {
			first = records[0].Offset
		}
		return nil
	})
	if !errors.Is(err, errStop) || first != 12 {
		t.Errorf("tail began at %d: %v; want 12", first, err)
	}
}

func (s *suite) client(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(s.brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// deleteBefore does what retention does, at once.
func deleteBefore(t *testing.T, c *kgo.Client, topic string, offset int64) {
	t.Helper()
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Offset = offset
	topics := kmsg.NewDeleteRecordsRequestTopic()
	topics.Topic, topics.Partitions = topic, []kmsg.DeleteRecordsRequestTopicPartition{p}
	request := kmsg.NewPtrDeleteRecordsRequest()
	request.Topics, request.TimeoutMillis = []kmsg.DeleteRecordsRequestTopic{topics}, 10_000
	response, err := request.RequestWith(patient(t), c)
	if err != nil || response.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("delete records: %+v, %v", response, err)
	}
}

var errStop = errors.New("the test has seen enough")

// tail: everything once and in order per partition, one word when it has caught
// up, then what arrives.
func tail(t *testing.T, s *suite) {
	topic := unique(t)
	l := s.open(t, topic, 3, nil)
	for p := range 3 {
		mustAppend(t, l, topic, p, set(1, 10))
	}
	caughtUp := make(chan int, 1)
	next := [3]int64{}
	total := 0
	ended := make(chan error, 1)
	go func() {
		ended <- l.Tail(patient(t), topic, eventlog.First, func(records []eventlog.Record) error {
			if records == nil {
				caughtUp <- total
			}
			for _, r := range records {
				if r.Offset != next[r.Partition] {
					t.Errorf("partition %d: offset %d, want %d", r.Partition, r.Offset, next[r.Partition])
				}
				next[r.Partition]++
				total++
			}
			if total == 60 {
				return errStop
			}
			return nil
		})
	}()
	select {
	case n := <-caughtUp:
		if n != 30 {
			t.Errorf("caught up after %d records, want 30", n)
		}
	case err := <-ended:
		t.Fatal(err)
	}
	for p := range 3 {
		mustAppend(t, l, topic, p, set(2, 10))
	}
	if err := <-ended; !errors.Is(err, errStop) {
		t.Errorf("tail ended with %v", err)
	}
}

// tailGrows: a partition the topic gains is followed from its first offset.
func tailGrows(t *testing.T, s *suite) {
	topic := unique(t)
	l := s.open(t, topic, 1, nil)
	caughtUp := make(chan struct{})
	got := make(chan eventlog.Record, 10)
	ctx, cancel := context.WithCancel(patient(t))
	ended := make(chan error, 1)
	go func() {
		ended <- l.Tail(ctx, topic, eventlog.First, func(records []eventlog.Record) error {
			if records == nil {
				close(caughtUp)
			}
			for _, r := range records {
				got <- r
			}
			return nil
		})
	}()
	<-caughtUp
	addPartitions(t, s.client(t), topic, 2)
	for l.Partitions(topic) < 2 {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("the new partition was not noticed")
		}
	}
	mustAppend(t, l, topic, 1, set(9, 1))
	if r := <-got; r.Partition != 1 || r.Batch[0] != 9 {
		t.Errorf("got %+v", r)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("tail ended with %v", err)
	}
}

func addPartitions(t *testing.T, c *kgo.Client, topic string, count int32) {
	t.Helper()
	part := kmsg.NewCreatePartitionsRequestTopic()
	part.Topic, part.Count = topic, count
	request := kmsg.NewPtrCreatePartitionsRequest()
	request.Topics, request.TimeoutMillis = []kmsg.CreatePartitionsRequestTopic{part}, 10_000
	response, err := request.RequestWith(patient(t), c)
	if err != nil || response.Topics[0].ErrorCode != 0 {
		t.Fatalf("add partitions: %+v, %v", response, err)
	}
}
