package webhooks

import (
	"time"

	"weir/eventlog"
	"weir/schemas"
)

// OwedTopic holds what was decided: kept for ever, because payloads of past
// deliveries are found here when they are asked for again.
const OwedTopic = "weir.webhooks.owed"

// Group is the consumer group of the dispatchers.
const Group = "weir.webhooks"

const (
	retryPrefix = "weir.webhooks.retry."

	// retryRetention is how long a stopped lane finds what it had to do.
	retryRetention = 30 * 24 * time.Hour
)

// defaultDelays are how long the delay topics hold a record. A wait is made of the
// longest that fit; what is left under the shortest is rounded up to it.
func defaultDelays() []time.Duration {
	return []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 10 * time.Hour}
}

// Topics are the topics of a lane with the default delays, for eventlog.Config.Topics.
func Topics() []eventlog.Topic { return topicsFor(defaultDelays()) }

func topicsFor(delays []time.Duration) []eventlog.Topic {
	topics := []eventlog.Topic{
		{Name: OwedTopic}, {Name: FirstsTopic, Partitions: 1, Single: true}, {Name: StatesTopic, Partitions: 1, Single: true},
		{Name: RepeatsTopic, Partitions: 1, Single: true, Retention: repeatsRetention},
	}
	for _, d := range delays {
		topics = append(topics, eventlog.Topic{Name: retryTopic(d), Retention: retryRetention})
	}
	return topics
}

func retryTopic(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if n := len(text) - len(zero); n > 0 && text[n:] == zero {
			text = text[:n+1]
		}
	}
	return retryPrefix + text
}

// hop chooses the delay topic for a wait: the longest that is not longer than it.
func hop(delays []time.Duration, wait time.Duration) time.Duration {
	best := delays[0]
	for _, d := range delays {
		if d <= wait {
			best = d
		}
	}
	return best
}

var attemptsTopic = eventlog.EventsTopic(schemas.Webhook)
