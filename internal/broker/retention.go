package broker

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// retentionPause is how often what topics need not keep any longer is removed.
const retentionPause = 10 * time.Minute

// retain removes expired records until ctx ends. kfake could do so itself, but not after a restart,
// where it does not begin to; and it empties a partition whose records are all old, which after the
// next start has forgotten its offsets and begins at 0 again. Here the last batch always stays.
func (b *Broker) retain(ctx context.Context, cfg Config) {
	tick := time.NewTicker(retentionPause)
	defer tick.Stop()
	for {
		if err := b.RemoveExpired(ctx); err != nil && ctx.Err() == nil {
			cfg.Logger.Warn("embedded log: expired records could not be removed; tried again later", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// RemoveExpired removes the records that their topics' retention.ms lets go, as is done every ten
// minutes: whole segments from the disk, but never the last batch of a partition.
func (b *Broker) RemoveExpired(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.addrs...))
	if err != nil {
		return err
	}
	defer client.Close()
	topics, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, client)
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	for _, topic := range topics.Topics {
		retention, err := retentionOf(ctx, client, *topic.Topic)
		if err != nil {
			return fmt.Errorf("retention of %s: %w", *topic.Topic, err)
		}
		if retention < 0 {
			continue
		}
		oldest := time.Now().Add(-retention).UnixMilli()
		for _, partition := range topic.Partitions {
			if err := removeBefore(ctx, client, *topic.Topic, partition.Partition, oldest); err != nil {
				return fmt.Errorf("%s partition %d: %w", *topic.Topic, partition.Partition, err)
			}
		}
	}
	return nil
}

// retentionOf is a topic's retention.ms; negative is for ever.
func retentionOf(ctx context.Context, client *kgo.Client, topic string) (time.Duration, error) {
	request := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName, resource.ConfigNames = kmsg.ConfigResourceTypeTopic, topic, []string{"retention.ms"}
	request.Resources = append(request.Resources, resource)
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return 0, err
	}
	for _, resource := range answer.Resources {
		if err := kerr.ErrorForCode(resource.ErrorCode); err != nil {
			return 0, err
		}
		for _, config := range resource.Configs {
			if config.Name == "retention.ms" && config.Value != nil {
				milliseconds, err := strconv.ParseInt(*config.Value, 10, 64)
				return time.Duration(milliseconds) * time.Millisecond, err
			}
		}
	}
	return -1, nil
}

// The times that stand for a partition's ends.
const (
	earliest = -2
	latest   = -1
)

// removeBefore lets a partition begin at its first batch that is not older, or at its last one.
func removeBefore(ctx context.Context, client *kgo.Client, topic string, partition int32, oldest int64) error {
	first, err := offsetAt(ctx, client, topic, partition, earliest)
	if err != nil {
		return err
	}
	end, err := offsetAt(ctx, client, topic, partition, latest)
	if err != nil {
		return err
	}
	keep, err := offsetAt(ctx, client, topic, partition, oldest)
	if err != nil {
		return err
	}
	if keep < 0 || keep >= end { // everything is older
		keep = end - 1
	}
	if keep <= first {
		return nil
	}
	request := kmsg.NewPtrDeleteRecordsRequest()
	of := kmsg.NewDeleteRecordsRequestTopic()
	which := kmsg.NewDeleteRecordsRequestTopicPartition()
	which.Partition, which.Offset = partition, keep
	of.Topic, of.Partitions = topic, append(of.Partitions, which)
	request.Topics = append(request.Topics, of)
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	for _, topic := range answer.Topics {
		for _, partition := range topic.Partitions {
			if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
				return fmt.Errorf("remove what is before %d: %w", keep, err)
			}
		}
	}
	return nil
}

// offsetAt is the first offset that is not older than a time in milliseconds; -1 when there is none.
func offsetAt(ctx context.Context, client *kgo.Client, topic string, partition int32, at int64) (int64, error) {
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	of := kmsg.NewListOffsetsRequestTopic()
	which := kmsg.NewListOffsetsRequestTopicPartition()
	which.Partition, which.Timestamp = partition, at
	of.Topic, of.Partitions = topic, append(of.Partitions, which)
	request.Topics = append(request.Topics, of)
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return 0, err
	}
	for _, topic := range answer.Topics {
		for _, partition := range topic.Partitions {
			return partition.Offset, kerr.ErrorForCode(partition.ErrorCode)
		}
	}
	return 0, fmt.Errorf("no answer for the offset at %d", at)
}
