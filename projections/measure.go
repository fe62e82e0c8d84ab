package projections

import (
	"fmt"
	"strings"

	"weir/eventlog"
	"weir/readmodel/tables"
)

// Measure says how many records the rows of a table stand for, on both sides: in
// SQL for the rows, and as a function of a record for the log. It knows nothing of
// the fold, so that the two can be held against each other.
type Measure struct {
	Table tables.Table
	// Rows is the aggregate that counts: count(), sum(events).
	Rows string
	// Of is what one record adds to Rows when it is folded; nil: one.
	Of func(r *eventlog.Record) int64
	// Topic and Partition are the expressions of where a row's record is. Topic is
	// "" where the projection has one topic, Partition "" where rows are sums over
	// several records. Tables with the latter have one row per record counted, and
	// its offset in the column offset.
	Topic, Partition string
	// Project is the column of the project; "" is project_id.
	Project string
}

func (m Measure) placed() bool { return m.Partition != "" }

func (m Measure) of(r *eventlog.Record) int64 {
	if m.Of == nil {
		return 1
	}
	return m.Of(r)
}

func (m Measure) project() string {
	if m.Project == "" {
		return "project_id"
	}
	return m.Project
}

// received reports whether rows tell when their record was received.
func (m Measure) received() bool {
	for _, c := range m.Table.Columns {
		if c.Name == "received_at" {
			return true
		}
	}
	return false
}

// ofTopic is the condition for rows of one topic.
func (m Measure) ofTopic(topic string) string {
	if m.Topic == "" {
		return "1"
	}
	return m.Topic + " = '" + topic + "'" // a name of ours: letters, dots and underscores
}

// within is the condition for rows whose records lie in the ranges; "0" for none.
func (m Measure) within(ranges map[eventlog.TopicPartition]span, topic string) string {
	parts := []string{"0"}
	for tp, s := range ranges {
		if tp.Topic == topic && s.to > s.from {
			parts = append(parts, fmt.Sprintf("(%s = %d AND `offset` >= %d AND `offset` < %d)", m.Partition, tp.Partition, s.from, s.to))
		}
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

// span is the offsets from one up to, and without, another.
type span struct{ from, to int64 }

func (s span) has(offset int64) bool { return offset >= s.from && offset < s.to }

func (s span) size() int64 { return max(0, s.to-s.from) }

// join is the smallest span that has both.
func (s span) join(o span) span {
	switch {
	case s.size() == 0:
		return o
	case o.size() == 0:
		return s
	}
	return span{min(s.from, o.from), max(s.to, o.to)}
}
