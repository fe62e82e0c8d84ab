package eventlogtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

// errAgain says that something was deleted: it is looked again until nothing is there.
var errAgain = errors.New("deleted just now")

// Empty deletes what Weir has on these brokers: its groups, once their members are gone, and its topics.
func Empty(t testing.TB, addrs []string) {
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
