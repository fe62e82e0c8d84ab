package engines

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/testcontainers/testcontainers-go"
	tcnetwork "github.com/testcontainers/testcontainers-go/network"
)

// The ports inside a Kafka container.
const (
	externalPort   = 9092
	controllerPort = 9093
	internalPort   = 19092
)

func kafkaInDocker(ctx context.Context, t testing.TB, n int) (*KafkaCluster, error) {
	var err error
	for range attempts {
		var k *KafkaCluster
		if k, err = createContainers(ctx, t, n); err != nil {
			return nil, err
		}
		if err = k.startAll(ctx); err == nil {
			return k, nil
		}
	}
	return nil, err
}

// createContainers makes n nodes on a network of their own, where each is known by its name.
func createContainers(ctx context.Context, t testing.TB, n int) (*KafkaCluster, error) {
	ports, err := freePorts(n)
	if err != nil {
		return nil, err
	}
	net, err := tcnetwork.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("a Docker network: %w", err)
	}
	t.Cleanup(func() {
		if err := net.Remove(context.WithoutCancel(ctx)); err != nil {
			t.Logf("removing a Docker network: %v", err)
		}
	})
	k := &KafkaCluster{}
	var voters []string
	for i := range n {
		voters = append(voters, fmt.Sprintf("%d@%s:%d", i+1, hostname(i), controllerPort))
		k.brokers = append(k.brokers, fmt.Sprintf("127.0.0.1:%d", ports[i]))
	}
	id := clusterID()
	for i := range n {
		p := properties(i+1, n, voters)
		p["listeners"] = fmt.Sprintf("EXTERNAL://0.0.0.0:%d,INTERNAL://0.0.0.0:%d,CONTROLLER://0.0.0.0:%d", externalPort, internalPort, controllerPort)
		p["advertised.listeners"] = fmt.Sprintf("EXTERNAL://%s,INTERNAL://%s:%d", k.brokers[i], hostname(i), internalPort)
		p["inter.broker.listener.name"] = "INTERNAL"
		p["log.dirs"] = "/tmp/kafka-logs" // writable in the public image
		env := environment(p)
		maps.Copy(env, map[string]string{"CLUSTER_ID": id, "KAFKA_HEAP_OPTS": heapOptions, "KAFKA_JVM_PERFORMANCE_OPTS": jvmOptions})
		node, err := newContainer(ctx, t, kafkaImage(), map[int]int{externalPort: ports[i]},
			testcontainers.WithEnv(env), tcnetwork.WithNetwork([]string{hostname(i)}, net))
		if err != nil {
			return nil, err
		}
		k.nodes = append(k.nodes, node)
	}
	return k, nil
}

func hostname(i int) string { return fmt.Sprintf("kafka-%d", i+1) }
