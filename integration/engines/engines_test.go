package engines_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/segmentio/kafka-go"

	"weir/integration/engines"
	"weir/internal/clickhouse/chtest"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

// Three brokers keep what they acknowledged through the kill of one, and take it back.
func TestKafkaSurvivesOneBroker(t *testing.T) {
	began := time.Now()
	k := engines.Kafka(t, 3)
	t.Logf("three brokers ready after %s", time.Since(began).Round(time.Millisecond))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(k.Brokers()...), Timeout: 10 * time.Second, Transport: transport}
	topic := fmt.Sprintf("engines-%d", time.Now().UnixNano())
	created, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: 1, ReplicationFactor: 3}}})
	if err != nil || created.Errors[topic] != nil {
		t.Fatalf("creating a topic of three replicas: %v, %v", err, created.Errors[topic])
	}
	leader := waitForLeader(ctx, t, client, topic, 0)
	appendRecord(ctx, t, client, topic, "before")

	k.Kill(k.NodeOf(leader))
	killed := time.Now()
	waitForLeader(ctx, t, client, topic, leader)
	appendRecord(ctx, t, client, topic, "while one is dead")
	t.Logf("appending again %s after the leader's death", time.Since(killed).Round(time.Millisecond))

	k.Restart(k.NodeOf(leader))
	appendRecord(ctx, t, client, topic, "after")
	offsets, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: {kafka.LastOffsetOf(0)}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := offsets.Topics[topic][0].LastOffset; got < 3 {
		t.Errorf("the log ends at %d, expected at least the three records acknowledged", got)
	}
}

// waitForLeader returns the partition's leader, when it is another than the given one.
func waitForLeader(ctx context.Context, t *testing.T, client *kafka.Client, topic string, not int) int {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		answer, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
		if err == nil && len(answer.Topics) == 1 && len(answer.Topics[0].Partitions) == 1 {
			if leader := answer.Topics[0].Partitions[0].Leader.ID; leader > 0 && leader != not {
				return leader
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("no leader of %s other than %d: %v", topic, not, err)
		case <-tick.C:
		}
	}
}

// appendRecord appends until it is acknowledged by the replicas in sync.
func appendRecord(ctx context.Context, t *testing.T, client *kafka.Client, topic, value string) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		answer, err := client.Produce(ctx, &kafka.ProduceRequest{
			Topic: topic, RequiredAcks: kafka.RequireAll,
			Records: kafka.NewRecordReader(kafka.Record{Value: kafka.NewBytes([]byte(value))}),
		})
		if err == nil && answer.Error == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("appending %q: %v", value, err)
		case <-tick.C:
		}
	}
}

// ClickHouse keeps its rows and its address through a kill.
func TestClickHouseRestarts(t *testing.T) {
	began := time.Now()
	s := engines.ClickHouse(t)
	t.Logf("ClickHouse ready after %s", time.Since(began).Round(time.Millisecond))
	conn, err := ch.Open(&ch.Options{Addr: []string{s.Access().Addr}, Auth: s.Access().Auth("default")})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	name := fmt.Sprintf("engines_%d", time.Now().UnixNano())
	for _, query := range []string{
		"create database " + name + " engine Atomic",
		"create table " + name + ".t (x UInt64) engine MergeTree order by x settings fsync_after_insert = 1",
		"insert into " + name + ".t settings async_insert = 0 values (1)",
	} {
		if err := conn.Exec(t.Context(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	access := s.Access()
	s.Kill()
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("a killed ClickHouse answers")
	}
	s.Restart()
	var rows uint64
	if err := conn.QueryRow(t.Context(), "select count() from "+name+".t").Scan(&rows); err != nil || rows != 1 || s.Access() != access {
		t.Errorf("after the restart: %d rows, error %v, address %s; expected 1 row on %s", rows, err, s.Access().Addr, access.Addr)
	}
}
