package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	engine "weir/internal/clickhouse"
)

// marked is all that is looked for in an event's data.
type marked struct {
	Marker string `json:"marker"`
}

// historyItem is one item of GET /api/events.
type historyItem struct {
	EventID    string          `json:"event_id"`
	Type       string          `json:"type"`
	TS         time.Time       `json:"ts"`
	ReceivedAt time.Time       `json:"received_at"`
	Data       json.RawMessage `json:"data"`
}

func (h historyItem) marker() (string, error) {
	var m marked
	if err := json.Unmarshal(h.Data, &m); err != nil || m.Marker == "" {
		return "", fmt.Errorf("event %s has no marker: %s (%w)", h.EventID, h.Data, err)
	}
	return m.Marker, nil
}

// history reads every event of the project through the API.
func history(t testing.TB, base string, who credentials) []historyItem {
	t.Helper()
	items, err := pages[historyItem](base, who.APIKey, "/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// logRecords reads the values of one project's records from the log itself, with a plain Kafka
// client: topic by topic, partition by partition, to the ends that they have now.
func logRecords(t testing.TB, brokers []string, project string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var values []string
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for at, end := range logEnds(t, brokers) {
		if end == 0 {
			continue
		}
		group.Go(func() error {
			some, err := partitionRecords(ctx, brokers, at, end, project)
			if err != nil {
				return fmt.Errorf("reading %s partition %d: %w", at.topic, at.partition, err)
			}
			mu.Lock()
			defer mu.Unlock()
			values = append(values, some...)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return values
}

type topicPartition struct {
	topic     string
	partition int
}

// logEnds is the offset after the last record of every partition with events.
func logEnds(t testing.TB, brokers []string) map[topicPartition]int64 {
	t.Helper()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(brokers...), Timeout: 20 * time.Second, Transport: transport}
	ends := map[topicPartition]int64{}
	eventually(t, time.Minute, "the brokers tell the ends of the log", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		return askEnds(ctx, client, ends)
	})
	return ends
}

func askEnds(ctx context.Context, client *kafka.Client, ends map[topicPartition]int64) error {
	meta, err := client.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return err
	}
	ask := map[string][]kafka.OffsetRequest{}
	for _, topic := range meta.Topics {
		if strings.HasPrefix(topic.Name, "weir.events.") {
			for _, p := range topic.Partitions {
				ask[topic.Name] = append(ask[topic.Name], kafka.LastOffsetOf(p.ID))
			}
		}
	}
	if len(ask) != len(kinds) {
		return fmt.Errorf("there are %d topics of events, expected %d", len(ask), len(kinds))
	}
	offsets, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: ask})
	if err != nil {
		return err
	}
	for topic, partitions := range offsets.Topics {
		for _, p := range partitions {
			if p.Error != nil {
				return p.Error
			}
			ends[topicPartition{topic, p.Partition}] = p.LastOffset
		}
	}
	return nil
}

func partitionRecords(ctx context.Context, brokers []string, at topicPartition, end int64, project string) ([]string, error) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: brokers, Topic: at.topic, Partition: at.partition, MinBytes: 1, MaxBytes: 16 << 20, MaxWait: 50 * time.Millisecond,
	})
	defer reader.Close()
	var values []string
	for {
		record, err := reader.ReadMessage(ctx)
		if err != nil {
			return nil, err
		}
		if string(record.Key) == project {
			values = append(values, string(record.Value))
		}
		if record.Offset >= end-1 {
			return values, nil
		}
	}
}

// progress is what GET /api/projections says of one projection.
type projectionProgress struct {
	Name       string
	Status     string
	Problem    string
	LagRecords int64 `json:"lag_records"`
	Partitions []struct {
		Topic     string
		Partition int
		Folded    int64
	}
}

// folded waits until every projection has folded every record that is in the log now. The log's
// ends come from the brokers, not from the server.
func folded(t testing.TB, s *server, token string, brokers []string, within time.Duration) {
	t.Helper()
	ends := logEnds(t, brokers)
	eventually(t, within, "the projections fold what is in the log", func() error {
		all, err := pages[projectionProgress](s.base(), token, "/api/projections", url.Values{})
		if err != nil {
			return err
		}
		return behind(all, ends)
	})
}

func behind(all []projectionProgress, ends map[topicPartition]int64) error {
	if len(all) < 4 {
		return fmt.Errorf("only %d projections are known", len(all))
	}
	var late []error
	for _, p := range all {
		for _, at := range p.Partitions {
			if end := ends[topicPartition{at.Topic, at.Partition}]; at.Folded < end {
				late = append(late, fmt.Errorf("%s has folded %s partition %d up to %d of %d", p.Name, at.Topic, at.Partition, at.Folded, end))
			}
		}
		if p.Status != "ok" || p.Problem != "" {
			late = append(late, fmt.Errorf("%s is %s: %s", p.Name, p.Status, p.Problem))
		}
	}
	return errors.Join(late...)
}

// group is one item of GET /api/errors/groups.
type group struct {
	Fingerprint, Name, Status string
	Count                     int
}

// delivery is one item of GET /api/webhooks/deliveries.
type delivery struct {
	ID             string
	ProjectID      string `json:"project_id"`
	Destination    string
	AttemptCount   int `json:"attempt_count"`
	LastStatusCode int `json:"last_status_code"`
	Status         string
}

// rollup is one item of GET /api/cost/rollups.
type rollup struct {
	costSum
	Amount string
	Events int
}

// askClickHouse gives a way to ask ClickHouse itself for one number, behind the API's back. It
// keeps no connection: an engine with clients takes seconds to end.
func askClickHouse(t testing.TB, at engine.Access, database string) func(sql string) int {
	return func(sql string) int {
		t.Helper()
		conn, err := clickhouse.Open(&clickhouse.Options{Addr: []string{at.Addr}, Auth: at.Auth(database)})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var n int64
		if err := conn.QueryRow(context.Background(), "SELECT toInt64(value) FROM ("+sql+")").Scan(&n); err != nil {
			t.Errorf("ClickHouse: %s: %v", sql, err)
		}
		return int(n)
	}
}
