package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// The classic group protocol, whose versions here every broker since Kafka 2.4
// and in 4.x takes.
const (
	joinVersion      = 5
	syncVersion      = 3
	heartbeatVersion = 3
	leaveVersion     = 2
	commitVersion    = 7

	protocolType = "consumer"
	protocolName = "weir-even"

	// roundTripRoom is added to the time the coordinator may take itself.
	roundTripRoom = 5 * time.Second
)

func (m *Membership) ask(ctx context.Context, key protocol.ApiKey, version int16, timeout time.Duration, body func([]byte) []byte) (*reader, error) {
	frame := appendString(newFrame(nil, key, version, m.log.cfg.ClientID), m.group)
	c := &groupCall{call: &call{key: key, frame: finishFrame(body(frame))}, group: m.group}
	answer, err := m.log.exchange(ctx, c, timeout)
	if err != nil {
		return nil, err
	}
	r := &reader{rest: answer}
	r.int32() // throttle
	return r, nil
}

// join goes through one rebalance.
func (m *Membership) join(ctx context.Context) (*Assignment, error) {
	generation, leader, members, err := m.joinGroup(ctx)
	if errors.Is(err, kafka.MemberIDRequired) {
		generation, leader, members, err = m.joinGroup(ctx)
	}
	if err != nil {
		return nil, err
	}
	a := &Assignment{Generation: int(generation), log: m.log, group: m.group, member: m.member, leads: leader == m.member}
	var shares map[string][]TopicPartition
	if a.leads {
		a.sizes = m.sizes(members)
		shares = share(members, a.sizes)
	}
	a.Partitions, err = m.syncGroup(ctx, generation, shares)
	return a, err
}

// sizes are the partition counts of all topics any member wants.
func (m *Membership) sizes(members []groupMember) map[string]int {
	sizes := make(map[string]int)
	for _, member := range members {
		for _, topic := range member.topics {
			sizes[topic] = m.log.Partitions(topic)
		}
	}
	return sizes
}

func (m *Membership) joinGroup(ctx context.Context) (generation int32, leader string, members []groupMember, err error) {
	cfg := m.log.cfg
	r, err := m.ask(ctx, protocol.JoinGroup, joinVersion, cfg.RebalanceTimeout+roundTripRoom, func(b []byte) []byte {
		b = appendInt32(b, int32(cfg.SessionTimeout.Milliseconds()))
		b = appendInt32(b, int32(cfg.RebalanceTimeout.Milliseconds()))
		b = appendNull(appendString(b, m.member))
		b = appendString(b, protocolType)
		b = appendString(appendInt32(b, 1), protocolName)
		return appendBytes(b, subscription(m.topics))
	})
	if err != nil {
		return 0, "", nil, err
	}
	code := r.int16()
	generation = r.int32()
	r.string() // protocol
	leader = r.string()
	member := r.string()
	if code == 0 || kafka.Error(code) == kafka.MemberIDRequired {
		m.member = member
	}
	for range r.count(8) {
		id := r.string()
		r.string() // instance
		topics, err := readSubscription(r.bytes())
		if err != nil {
			return 0, "", nil, fmt.Errorf("member %s of group %s: %w", id, m.group, err)
		}
		members = append(members, groupMember{id: id, topics: topics})
	}
	return generation, leader, members, errors.Join(codeError(code), r.err())
}

func (m *Membership) syncGroup(ctx context.Context, generation int32, shares map[string][]TopicPartition) ([]TopicPartition, error) {
	r, err := m.ask(ctx, protocol.SyncGroup, syncVersion, m.log.cfg.RebalanceTimeout+roundTripRoom, func(b []byte) []byte {
		b = appendInt32(b, generation)
		b = appendNull(appendString(b, m.member))
		b = appendInt32(b, int32(len(shares)))
		for member, partitions := range shares {
			b = appendBytes(appendString(b, member), assignment(partitions))
		}
		return b
	})
	if err != nil {
		return nil, err
	}
	if err := codeError(r.int16()); err != nil {
		return nil, err
	}
	mine := r.bytes()
	if err := r.err(); err != nil {
		return nil, err
	}
	return readAssignment(mine)
}

func (m *Membership) heartbeat(ctx context.Context, a *Assignment, timeout time.Duration) error {
	r, err := m.ask(ctx, protocol.Heartbeat, heartbeatVersion, timeout, func(b []byte) []byte {
		return appendNull(appendString(appendInt32(b, int32(a.Generation)), a.member))
	})
	if err != nil {
		return err
	}
	code := r.int16()
	return errors.Join(codeError(code), r.err())
}

func (m *Membership) leaveGroup(ctx context.Context) error {
	r, err := m.ask(ctx, protocol.LeaveGroup, leaveVersion, m.log.cfg.RequestTimeout, func(b []byte) []byte {
		return appendString(b, m.member)
	})
	if err != nil {
		return fmt.Errorf("%w: leave group %s: %w", ErrUnavailable, m.group, err)
	}
	if code := r.int16(); code != 0 && kafka.Error(code) != kafka.UnknownMemberId {
		return fmt.Errorf("leave group %s: %w", m.group, kafka.Error(code))
	}
	return nil
}

func (a *Assignment) commitFrame(tp TopicPartition, offset int64, metadata string) []byte {
	b := appendString(newFrame(nil, protocol.OffsetCommit, commitVersion, a.log.cfg.ClientID), a.group)
	b = appendInt32(b, int32(a.Generation))
	b = appendNull(appendString(b, a.member))
	b = appendString(appendInt32(b, 1), tp.Topic)
	b = appendInt32(appendInt32(b, 1), int32(tp.Partition))
	b = appendInt32(appendInt64(b, offset), -1) // of no leader epoch
	return finishFrame(appendString(b, metadata))
}

func readCommit(body []byte, tp TopicPartition) error {
	r := reader{rest: body}
	r.int32() // throttle
	topics := r.count(2)
	topic := r.string()
	partitions := r.count(6)
	partition, code := r.int32(), r.int16()
	if topics != 1 || partitions != 1 || topic != tp.Topic || int(partition) != tp.Partition || r.bad {
		return errReply
	}
	return codeError(code)
}
