package eventlog

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

var checkedConfigs = []string{"cleanup.policy", "retention.ms", "max.message.bytes", "min.insync.replicas"}

// check refuses topics whose settings would lose events or refuse our record
// batches, and warns of what is merely unusual.
func (l *Log) check(ctx context.Context, topics []Topic) error {
	if len(topics) == 0 {
		return nil
	}
	request := &kafka.DescribeConfigsRequest{}
	byName := make(map[string]Topic, len(topics))
	for _, t := range topics {
		byName[t.Name] = t
		request.Resources = append(request.Resources, kafka.DescribeConfigRequestResource{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: t.Name, ConfigNames: checkedConfigs,
		})
	}
	response, err := l.client.DescribeConfigs(ctx, request)
	if err != nil {
		l.cfg.Logger.Warn("topic settings could not be read, they are not checked", "error", err)
		return nil
	}
	for _, r := range response.Resources {
		if r.Error != nil {
			l.cfg.Logger.Warn("topic settings could not be read, they are not checked", "topic", r.ResourceName, "error", r.Error)
			continue
		}
		if err := l.checkTopic(ctx, byName[r.ResourceName], settings(r)); err != nil {
			return err
		}
	}
	return nil
}

func settings(r kafka.DescribeConfigResponseResource) map[string]string {
	m := make(map[string]string, len(r.ConfigEntries))
	for _, e := range r.ConfigEntries {
		m[e.ConfigName] = e.ConfigValue
	}
	return m
}

func (l *Log) checkTopic(ctx context.Context, t Topic, have map[string]string) error {
	if policy := have["cleanup.policy"]; strings.Contains(policy, "compact") {
		return fmt.Errorf("topic %s has cleanup.policy=%s, which deletes events: set it to delete", t.Name, policy)
	}
	if n, err := strconv.Atoi(have["max.message.bytes"]); err == nil && n < l.cfg.MaxRecordBatchBytes {
		if l.cfg.Embedded {
			return l.enlarge(ctx, t)
		}
		return fmt.Errorf("topic %s takes record batches of %d bytes and %d are needed: set its max.message.bytes to %d", t.Name, n, l.cfg.MaxRecordBatchBytes, l.cfg.MaxRecordBatchBytes)
	}
	ms, err := strconv.ParseInt(have["retention.ms"], 10, 64)
	if err != nil {
		return nil
	}
	kept := time.Duration(ms) * time.Millisecond
	switch {
	case ms < 0:
	case t.LeastRetention > 0 && kept < t.LeastRetention:
		return fmt.Errorf("topic %s keeps records for %v and at least %v are needed: set its retention.ms to %d", t.Name, kept, t.LeastRetention, t.Retention.Milliseconds())
	case t.Retention <= 0:
		l.cfg.Logger.Warn("topic does not keep its records for ever: read models can't be rebuilt from what it deletes", "topic", t.Name, "retention", kept)
	}
	return nil
}

// enlarge lets a topic of the embedded broker take larger record batches: there is
// nobody else to do it.
func (l *Log) enlarge(ctx context.Context, t Topic) error {
	response, err := l.client.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: t.Name,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{
				Name: "max.message.bytes", Value: strconv.Itoa(l.cfg.MaxRecordBatchBytes), ConfigOperation: kafka.ConfigOperationSet,
			}},
		}},
	})
	if err == nil && len(response.Resources) == 1 {
		err = response.Resources[0].Error
	}
	if err != nil {
		return fmt.Errorf("raise max.message.bytes of topic %s to %d: %w", t.Name, l.cfg.MaxRecordBatchBytes, err)
	}
	return nil
}
