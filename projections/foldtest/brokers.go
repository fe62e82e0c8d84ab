package foldtest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"weir/internal/broker"
)

// BrokersEnv names the variable with the brokers of an Apache Kafka that is these tests'
// alone: each test deletes what it finds of Weir there. Without it each has an embedded
// broker of its own.
const BrokersEnv = "WEIR_TEST_FOLD_BROKERS"

// brokers are those of one test.
func brokers(t testing.TB) []string {
	t.Helper()
	if text := os.Getenv(BrokersEnv); text != "" {
		addrs := strings.Split(text, ",")
		empty(t, addrs)
		return addrs
	}
	b, err := broker.Start(t.Context(), broker.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b.Addrs()
}

// errAgain says that something was deleted: it is looked again until nothing is there.
var errAgain = errors.New("deleted just now")

// empty deletes Weir's groups, once their members are gone, and topics.
func empty(t testing.TB, addrs []string) {
	t.Helper()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(addrs...), Timeout: 10 * time.Second, Transport: transport}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		err := errors.Join(deleteGroups(ctx, client), deleteTopics(ctx, client))
		if err == nil {
			return
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("emptying %v: %v", addrs, err)
		}
	}
}

func deleteGroups(ctx context.Context, client *kafka.Client) error {
	listed, err := client.ListGroups(ctx, &kafka.ListGroupsRequest{})
	if err != nil || listed.Error != nil {
		return errors.Join(err, listed.Error)
	}
	var names []string
	for _, g := range listed.Groups {
		if strings.HasPrefix(g.GroupID, "weir") {
			names = append(names, g.GroupID)
		}
	}
	if len(names) == 0 {
		return nil
	}
	deleted, err := client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: names})
	if err == nil {
		for _, one := range deleted.Errors {
			err = errors.Join(err, one)
		}
	}
	return errors.Join(err, errAgain)
}

func deleteTopics(ctx context.Context, client *kafka.Client) error {
	there, err := client.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return err
	}
	var names []string
	for _, topic := range there.Topics {
		if strings.HasPrefix(topic.Name, "weir") {
			names = append(names, topic.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	deleted, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: names})
	if err == nil {
		for _, one := range deleted.Errors {
			err = errors.Join(err, one)
		}
	}
	return errors.Join(err, errAgain)
}
