package eventlog

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"weir/internal/broker"
	"weir/schemas"
)

// TestOpenAgain: the second Open finds the topics as they should be.
func TestOpenAgain(t *testing.T) {
	b := startBroker(t, broker.Config{})
	for range 2 {
		l := openLog(t, testConfig(t, b.Addrs()))
		for _, topic := range append(EventsTopics(), ControlTopic, ReceiptsTopic) {
			if n := l.Partitions(topic); n != 1 {
				t.Errorf("%s has %d partitions, want 1", topic, n)
			}
		}
	}
}

// TestOpenUnreachable says which addresses do not answer.
func TestOpenUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	cfg := testConfig(t, []string{addr})
	cfg.RequestTimeout = 500 * time.Millisecond
	_, err = Open(t.Context(), cfg)
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), addr) {
		t.Errorf("open: %v", err)
	}
}

// TestOpenRefusesTopics whose settings would lose or refuse events.
func TestOpenRefusesTopics(t *testing.T) {
	for _, c := range []struct {
		topic      string
		partitions int32
		settings   map[string]string
		want       string
	}{
		{ControlTopic, 2, nil, "exactly 1"},
		{EventsTopic(schemas.Log), 1, map[string]string{"cleanup.policy": "compact"}, "cleanup.policy"},
		{EventsTopic(schemas.Log), 1, map[string]string{"max.message.bytes": "1000000"}, "max.message.bytes"},
		{ReceiptsTopic, 1, map[string]string{"max.message.bytes": "16777216", "retention.ms": "3600000"}, "retention.ms"},
	} {
		t.Run(c.want, func(t *testing.T) {
			b := startBroker(t, broker.Config{})
			makeTopic(t, b, c.topic, c.partitions, c.settings)
			registry := prometheus.NewRegistry()
			cfg := testConfig(t, b.Addrs())
			cfg.Registerer, cfg.Embedded, cfg.Partitions = registry, false, 1
			_, err := Open(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.topic) {
				t.Errorf("open: %v", err)
			}
			if families, err := registry.Gather(); err != nil || len(families) != 0 {
				t.Errorf("metrics are left after a failed open: %v, %v", families, err)
			}
		})
	}
}

func makeTopic(t *testing.T, b *broker.Broker, name string, partitions int32, settings map[string]string) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(b.Addrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
	if settings == nil {
		settings = map[string]string{"max.message.bytes": "16777216"}
	}
	for k, v := range settings {
		entry := kmsg.NewCreateTopicsRequestTopicConfig()
		entry.Name, entry.Value = k, &v
		topic.Configs = append(topic.Configs, entry)
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics, request.TimeoutMillis = []kmsg.CreateTopicsRequestTopic{topic}, 10_000
	response, err := request.RequestWith(within(t, 30*time.Second), c)
	if err != nil || response.Topics[0].ErrorCode != 0 {
		t.Fatalf("make topic: %+v, %v", response, err)
	}
}

// TestClose lets appends finish, refuses later ones, and ends tails and members.
func TestClose(t *testing.T) {
	b := startBroker(t, broker.Config{})
	l := openLog(t, testConfig(t, b.Addrs()))
	if _, err := l.Append(within(t, 30*time.Second), testTopic, 0, oneSet('a', 1)); err != nil {
		t.Fatal(err)
	}
	tailed := make(chan error, 1)
	reading := make(chan struct{})
	go func() {
		tailed <- l.Tail(t.Context(), testTopic, First, func(records []Record) error {
			if records == nil {
				close(reading)
			}
			return nil
		})
	}()
	<-reading
	m, err := l.Join(t.Context(), "g", []string{testTopic})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Next(within(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(within(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := <-tailed; !errors.Is(err, ErrClosed) {
		t.Errorf("tail of a closed log: %v, want ErrClosed", err)
	}
	if _, err := m.Next(within(t, 30*time.Second)); !errors.Is(err, ErrClosed) {
		t.Errorf("next of a closed log: %v, want ErrClosed", err)
	}
	for p := range 2 {
		if _, err := l.Append(within(t, 30*time.Second), testTopic, p, oneSet('b', 1)); !errors.Is(err, ErrClosed) {
			t.Errorf("append after close: %v, want ErrClosed", err)
		}
	}
	if err := l.Close(context.Background()); err != nil {
		t.Errorf("second close: %v", err)
	}
}
