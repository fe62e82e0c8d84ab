package eventlog

import (
	"strings"
	"time"

	"weir/schemas"
)

// ControlTopic holds projects, keys, secrets and endpoints: one partition, kept
// for ever. ReceiptsTopic holds what idempotency keys were answered, kept a
// little over a day.
const (
	ControlTopic  = "weir.control"
	ReceiptsTopic = "weir.receipts"

	eventsPrefix = "weir.events."
)

// shortestReceipts is the least retention the receipts topic may have: keys are
// remembered for 24 hours, and an hour is left for clocks and late claims.
const shortestReceipts = 25 * time.Hour

// EventsTopic returns the topic of one event type, such as "weir.events.log".
func EventsTopic(t schemas.Type) string { return eventsPrefix + t.String() }

// EventsTopics returns the topics of all event types, in the order of
// schemas.Types.
func EventsTopics() []string {
	types := schemas.Types()
	topics := make([]string, len(types))
	for i, t := range types {
		topics[i] = EventsTopic(t)
	}
	return topics
}

// Topic is what Open makes sure of for one topic.
type Topic struct {
	// Name of the topic.
	Name string

	// Partitions the topic gets when it is made. Zero takes Config.Partitions.
	Partitions int

	// Retention is how long records are kept; zero or less is for ever.
	Retention time.Duration

	// Single refuses a topic that has more than one partition: its order over
	// all records matters.
	Single bool

	// LeastRetention refuses an existing topic that keeps records for less.
	// Zero does not check.
	LeastRetention time.Duration
}

// standardTopics are the topics every Weir has.
func standardTopics(cfg Config) []Topic {
	topics := []Topic{
		{Name: ControlTopic, Partitions: 1, Single: true},
		{Name: ReceiptsTopic, Retention: cfg.ReceiptsRetention, LeastRetention: shortestReceipts},
	}
	for _, name := range EventsTopics() {
		topics = append(topics, Topic{Name: name, Retention: cfg.EventsRetention})
	}
	return topics
}

// shortTopic is the name used in positions: the event type for an events topic,
// else the topic itself.
func shortTopic(topic string) string {
	if name, ok := strings.CutPrefix(topic, eventsPrefix); ok {
		return name
	}
	return topic
}

// longTopic undoes shortTopic.
func longTopic(name string) string {
	if _, ok := schemas.ParseType(name); ok {
		return eventsPrefix + name
	}
	return name
}
