package eventlog

import (
	"cmp"
	"maps"
	"slices"
)

// groupMember is a member of a group and the topics it wants.
type groupMember struct {
	id     string
	topics []string
}

// share deals all partitions out evenly: each goes to the member with the fewest
// so far among those that want its topic. Every member gets an entry.
func share(members []groupMember, sizes map[string]int) map[string][]TopicPartition {
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b groupMember) int { return cmp.Compare(a.id, b.id) })
	shares := make(map[string][]TopicPartition, len(members))
	for _, m := range members {
		shares[m.id] = nil
	}
	for _, topic := range slices.Sorted(maps.Keys(sizes)) {
		for p := range sizes[topic] {
			best := ""
			for _, m := range members {
				if slices.Contains(m.topics, topic) && (best == "" || len(shares[m.id]) < len(shares[best])) {
					best = m.id
				}
			}
			if best != "" {
				shares[best] = append(shares[best], TopicPartition{topic, p})
			}
		}
	}
	return shares
}

// subscription and assignment are the consumer protocol's own formats (version 0),
// so that Kafka's tools can show the group.
func subscription(topics []string) []byte {
	b := appendInt32(appendInt16(nil, 0), int32(len(topics)))
	for _, topic := range topics {
		b = appendString(b, topic)
	}
	return appendInt32(b, -1)
}

func readSubscription(b []byte) ([]string, error) {
	r := reader{rest: b}
	r.int16()
	topics := make([]string, 0, 16)
	for range r.count(2) {
		topics = append(topics, r.string())
	}
	return topics, r.err()
}

func assignment(partitions []TopicPartition) []byte {
	byTopic := make(map[string][]int)
	for _, tp := range partitions {
		byTopic[tp.Topic] = append(byTopic[tp.Topic], tp.Partition)
	}
	b := appendInt32(appendInt16(nil, 0), int32(len(byTopic)))
	for _, topic := range slices.Sorted(maps.Keys(byTopic)) {
		b = appendInt32(appendString(b, topic), int32(len(byTopic[topic])))
		for _, p := range byTopic[topic] {
			b = appendInt32(b, int32(p))
		}
	}
	return appendInt32(b, -1)
}

func readAssignment(b []byte) ([]TopicPartition, error) {
	if len(b) == 0 {
		return nil, nil
	}
	r := reader{rest: b}
	r.int16()
	var partitions []TopicPartition
	for range r.count(6) {
		topic := r.string()
		for range r.count(4) {
			partitions = append(partitions, TopicPartition{topic, int(r.int32())})
		}
	}
	return partitions, r.err()
}
