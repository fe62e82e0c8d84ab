package eventlog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

// leaderWait bounds how long Open waits for new topics to get leaders.
const leaderWait = 30 * time.Second

// segmentTime is short for topics that forget, because only whole segments are
// deleted.
const segmentTime = time.Hour

// prepare reaches the brokers, makes missing topics and checks the others.
func (l *Log) prepare(ctx context.Context, topics []Topic) error {
	view, err := l.reach(ctx)
	if denied(err) {
		return fmt.Errorf("%w: %s: %w; check user, password, mechanism and certificate authority", ErrRefused, strings.Join(l.cfg.Brokers, ", "), err)
	}
	if err != nil {
		return fmt.Errorf("%w: no broker of %s answers: %w; check that the log runs and that the addresses are right", ErrUnavailable, strings.Join(l.cfg.Brokers, ", "), err)
	}
	if err := l.create(ctx, missing(topics, view), len(view.Brokers)); err != nil {
		return err
	}
	if err := l.check(ctx, existing(topics, view)); err != nil {
		return err
	}
	l.compare(topics, view)
	return l.awaitLeaders(ctx, topics)
}

// reach waits for the first view of the cluster.
func (l *Log) reach(ctx context.Context) (*kafka.MetadataResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.RequestTimeout)
	defer cancel()
	var pause backoff
	for {
		view, err := l.metadata(ctx)
		if err == nil && len(view.Brokers) > 0 {
			return view, nil
		}
		if err == nil {
			err = errors.New("the cluster has no brokers yet")
		}
		if denied(err) || pause.wait(ctx) != nil {
			return nil, err
		}
	}
}

func missing(topics []Topic, view *kafka.MetadataResponse) []Topic {
	var list []Topic
	for i, t := range topics {
		if errors.Is(view.Topics[i].Error, kafka.UnknownTopicOrPartition) {
			list = append(list, t)
		}
	}
	return list
}

func existing(topics []Topic, view *kafka.MetadataResponse) []Topic {
	var list []Topic
	for i, t := range topics {
		if !errors.Is(view.Topics[i].Error, kafka.UnknownTopicOrPartition) {
			list = append(list, t)
		}
	}
	return list
}

// create makes the topics. Another process may have made one meanwhile.
func (l *Log) create(ctx context.Context, topics []Topic, brokers int) error {
	if len(topics) == 0 {
		return nil
	}
	replication := l.cfg.Replication
	if replication == 0 {
		replication = min(mostReplicas, brokers)
	}
	request := &kafka.CreateTopicsRequest{}
	for _, t := range topics {
		request.Topics = append(request.Topics, l.topicConfig(t, replication))
	}
	var pause backoff
	for {
		response, err := l.client.CreateTopics(ctx, request)
		if err == nil {
			err = createErrors(response)
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, kafka.NotController) || pause.wait(ctx) != nil {
			return fmt.Errorf("make the topics of the log: %w", err)
		}
	}
}

// compare warns of topics whose partitions are not what the setting asks for. They are
// not changed: fewer are not possible, and more can never be taken back, so a setting
// that only one of many processes has must not decide it.
func (l *Log) compare(topics []Topic, view *kafka.MetadataResponse) {
	if !l.cfg.partitionsAsked {
		return
	}
	var others []string
	have := 0
	for i, t := range topics {
		n := len(view.Topics[i].Partitions)
		if t.Partitions == 0 && n > 0 && n != l.cfg.Partitions {
			others, have = append(others, t.Name), n
		}
	}
	if len(others) > 0 {
		l.cfg.Logger.Warn("the setting for partitions changes no topic that exists: add partitions with Kafka's tools; fewer are not possible",
			"asked", l.cfg.Partitions, "have", have, "topics", strings.Join(others, ","))
	}
}

func createErrors(response *kafka.CreateTopicsResponse) error {
	var all error
	for topic, err := range response.Errors {
		if err != nil && !errors.Is(err, kafka.TopicAlreadyExists) {
			all = errors.Join(all, fmt.Errorf("%s: %w", topic, err))
		}
	}
	return all
}

func (l *Log) topicConfig(t Topic, replication int) kafka.TopicConfig {
	partitions := t.Partitions
	if partitions == 0 {
		partitions = l.cfg.Partitions
	}
	entries := []kafka.ConfigEntry{
		{ConfigName: "cleanup.policy", ConfigValue: "delete"},
		{ConfigName: "retention.ms", ConfigValue: retentionValue(t.Retention)},
		{ConfigName: "retention.bytes", ConfigValue: "-1"},
		{ConfigName: "max.message.bytes", ConfigValue: strconv.Itoa(l.cfg.MaxRecordBatchBytes)},
	}
	if replication >= mostReplicas {
		entries = append(entries, kafka.ConfigEntry{ConfigName: "min.insync.replicas", ConfigValue: "2"})
	}
	if t.Retention > 0 {
		entries = append(entries, kafka.ConfigEntry{ConfigName: "segment.ms", ConfigValue: strconv.FormatInt(segmentTime.Milliseconds(), 10)})
	}
	return kafka.TopicConfig{Topic: t.Name, NumPartitions: partitions, ReplicationFactor: replication, ConfigEntries: entries}
}

func retentionValue(d time.Duration) string {
	if d <= 0 {
		return "-1"
	}
	return strconv.FormatInt(d.Milliseconds(), 10)
}

// awaitLeaders waits until every partition can be appended to, then counts them.
// A partition of an older topic whose broker is down does not stop the others.
func (l *Log) awaitLeaders(ctx context.Context, topics []Topic) error {
	ctx, cancel := context.WithTimeout(ctx, leaderWait)
	defer cancel()
	var pause backoff
	for {
		view, err := l.metadata(ctx)
		if err == nil {
			if err = ready(view); err == nil {
				l.count(view)
				return l.single(topics)
			}
		}
		if pause.wait(ctx) != nil {
			return fmt.Errorf("%w: topics are not ready after %v: %w", ErrUnavailable, leaderWait, err)
		}
	}
}

func ready(view *kafka.MetadataResponse) error {
	for _, t := range view.Topics {
		if len(t.Partitions) == 0 {
			return fmt.Errorf("%s: %w", t.Name, errors.Join(t.Error, errors.New("no partitions yet")))
		}
		led := 0
		for _, p := range t.Partitions {
			if p.Leader.Host != "" {
				led++
			}
		}
		if led == 0 {
			return fmt.Errorf("%s: no partition has a leader", t.Name)
		}
	}
	return nil
}

// single refuses topics whose order needs one partition and that have more.
func (l *Log) single(topics []Topic) error {
	for _, t := range topics {
		if n := l.Partitions(t.Name); t.Single && n != 1 {
			return fmt.Errorf("topic %s has %d partitions and needs exactly 1, because the order of all its records matters: make it anew with one", t.Name, n)
		}
	}
	return nil
}
