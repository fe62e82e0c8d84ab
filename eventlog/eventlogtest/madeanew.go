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

// madeAnew: a topic that was deleted and made again is not taken for the one before,
// whether it is still shorter or has grown past what was read.
func madeAnew(t *testing.T, s *suite) {
	topic := unique(t)
	l := s.open(t, topic, 1, nil)
	tp := eventlog.TopicPartition{Topic: topic}
	mustAppend(t, l, topic, 0, set(1, 10))
	records := readAll(t, l, topic, 0)
	first, last := records[0].Witness(), records[9].Witness()
	if first == last || records[9].Witness() != last {
		t.Errorf("witnesses %v and %v", first, last)
	}
	confirm := func(w eventlog.Witness, want error) {
		t.Helper()
		if err := l.Confirm(patient(t), tp, w); !errors.Is(err, want) {
			t.Errorf("witness %v: %v, want %v", w, err, want)
		}
	}
	confirm(first, nil)
	confirm(last, nil)
	confirm(eventlog.Witness{}, nil)
	confirm(eventlog.Witness{Offset: 9, Sum: 7}, eventlog.ErrRewritten)
	confirm(eventlog.Witness{Offset: 10, Sum: 7}, eventlog.ErrPastEnd)
	confirm(eventlog.Witness{Offset: 11, Sum: 7}, eventlog.ErrPastEnd)

	makeAnew(t, s.client(t), topic)
	l = s.open(t, topic, 1, nil)
	mustAppend(t, l, topic, 0, set(2, 5))
	confirm(first, eventlog.ErrRewritten)
	confirm(last, eventlog.ErrPastEnd)
	mustAppend(t, l, topic, 0, set(3, 20))
	confirm(last, eventlog.ErrRewritten)
	deleteBefore(t, s.client(t), topic, 20)
	confirm(last, nil)
}

// makeAnew deletes a topic of one partition and makes it again, empty.
func makeAnew(t *testing.T, client *kgo.Client, topic string) {
	t.Helper()
	ctx := patient(t)
	gone := kmsg.NewPtrDeleteTopicsRequest()
	one := kmsg.NewDeleteTopicsRequestTopic()
	one.Topic = &topic
	gone.TopicNames, gone.Topics, gone.TimeoutMillis = []string{topic}, []kmsg.DeleteTopicsRequestTopic{one}, 10_000
	deleted, err := gone.RequestWith(ctx, client)
	if err != nil || deleted.Topics[0].ErrorCode != 0 {
		t.Fatalf("deleting a topic: %+v, %v", deleted, err)
	}
	anew := kmsg.NewPtrCreateTopicsRequest()
	topics := kmsg.NewCreateTopicsRequestTopic()
	topics.Topic, topics.NumPartitions, topics.ReplicationFactor = topic, 1, 1
	size := kmsg.NewCreateTopicsRequestTopicConfig()
	size.Name, size.Value = "max.message.bytes", kmsg.StringPtr("33554432")
	topics.Configs = append(topics.Configs, size)
	anew.Topics, anew.TimeoutMillis = []kmsg.CreateTopicsRequestTopic{topics}, 10_000
	for {
		created, err := anew.RequestWith(ctx, client)
		if err == nil && created.Topics[0].ErrorCode == 0 {
			return
		}
		if !soon(ctx) { // the deletion is carried out after it is answered
			t.Fatalf("making the topic again: %+v, %v", created, err)
		}
	}
}

// soon waits for a moment; false when ctx has ended.
func soon(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(50 * time.Millisecond):
		return true
	}
}
