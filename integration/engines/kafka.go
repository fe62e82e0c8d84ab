package engines

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

const (
	readyTimeout = 90 * time.Second
	readyPause   = 100 * time.Millisecond
)

// node is one broker, which is a controller too.
type node interface {
	start(ctx context.Context) error
	kill(ctx context.Context) error    // SIGKILL; the data stays
	output(ctx context.Context) string // the end of what it logged
}

// KafkaCluster is a running Apache Kafka.
type KafkaCluster struct {
	t       testing.TB
	brokers []string
	nodes   []node // none when the brokers are somebody else's
}

// Kafka starts n brokers for this test and returns when all of them know each other. With three
// or more, topics have three replicas of which two must be in sync.
func Kafka(t testing.TB, n int) *KafkaCluster {
	t.Helper()
	if brokers := os.Getenv(kafkaBrokersEnv); brokers != "" {
		return &KafkaCluster{t: t, brokers: strings.Split(brokers, ",")}
	}
	k := choose(t, "Apache Kafka",
		func(ctx context.Context) (*KafkaCluster, error) { return kafkaInDocker(ctx, t, n) },
		func(ctx context.Context) (*KafkaCluster, error) { return kafkaAsProcesses(ctx, t, n) })
	k.t = t
	return k
}

// Brokers are the host:port addresses of all nodes, dead ones too.
func (k *KafkaCluster) Brokers() []string { return append([]string(nil), k.brokers...) }

// Kill ends a node with SIGKILL, node 0 being the broker with id 1. The test is left out when the
// brokers are somebody else's.
func (k *KafkaCluster) Kill(i int) {
	k.t.Helper()
	k.owned()
	if err := k.nodes[i].kill(context.Background()); err != nil {
		k.t.Fatalf("killing Kafka node %d: %v", i, err)
	}
}

// Restart starts a killed node on its data and returns when it serves again. Its replicas may
// still be catching up.
func (k *KafkaCluster) Restart(i int) {
	k.t.Helper()
	k.owned()
	ctx := context.Background()
	if err := k.nodes[i].start(ctx); err != nil {
		k.t.Fatalf("starting Kafka node %d again: %v", i, err)
	}
	if err := k.ready(ctx, k.brokers[i]); err != nil {
		k.t.Fatalf("Kafka node %d after its restart: %v\n%s", i, err, k.nodes[i].output(ctx))
	}
}

// NodeOf is the node of a broker id, as Kafka's metadata has it.
func (k *KafkaCluster) NodeOf(brokerID int) int { return brokerID - 1 }

func (k *KafkaCluster) owned() {
	k.t.Helper()
	if len(k.nodes) == 0 {
		k.t.Skipf("left out, as the brokers of %s are not ours to kill", kafkaBrokersEnv)
	}
}

// startAll starts every node and waits for them; the error has what they logged.
func (k *KafkaCluster) startAll(ctx context.Context) error {
	for i, n := range k.nodes {
		if err := n.start(ctx); err != nil {
			return fmt.Errorf("starting node %d: %w", i, err)
		}
	}
	for i, addr := range k.brokers {
		if err := k.ready(ctx, addr); err != nil {
			return fmt.Errorf("node %d: %w\n%s", i, err, k.nodes[i].output(ctx))
		}
	}
	return nil
}

// ready waits until the broker at addr names all brokers and a controller.
func (k *KafkaCluster) ready(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(addr), Timeout: 5 * time.Second, Transport: transport}
	tick := time.NewTicker(readyPause)
	defer tick.Stop()
	for {
		answer, err := client.Metadata(ctx, &kafka.MetadataRequest{})
		if err == nil && len(answer.Brokers) == len(k.brokers) && answer.Controller.Host != "" {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("it knows %d of %d brokers", len(answer.Brokers), len(k.brokers))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready within %s: %w", readyTimeout, err)
		case <-tick.C:
		}
	}
}
