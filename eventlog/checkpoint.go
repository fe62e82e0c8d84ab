package eventlog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Checkpoint is how far a group has folded a partition. It is kept as the group's
// committed offset, with a plan in the offset's metadata.
type Checkpoint struct {
	// Offset is the next offset to fold: everything before it is applied.
	Offset int64

	// Planned is the end of the range [Offset, Planned) that was planned and may
	// be applied in part or whole; -1 without a plan. Who takes the partition
	// over folds exactly this range again, with the same token.
	Planned int64

	// Before is the last record before Offset, Last the last one of the plan, as
	// they were read; zero when there was none or nothing was kept of it. See
	// Log.Confirm.
	Before, Last Witness

	// Exists is false when the group never committed for the partition. Offset
	// is 0 then.
	Exists bool
}

// The text in an offset's metadata: version, the end of the plan if there is one,
// and the witnesses there are, such as "weir1", "weir1 before 1199:9f3a" and
// "weir1 plan 1235 before 1199:9f3a last 1234:7d01". Text of others, as from Kafka's
// own tools when they reset a group, means no plan.
const (
	metadataVersion = "weir1"
	metadataPlan    = "plan"
	metadataBefore  = "before"
	metadataLast    = "last"
	metadataFamily  = "weir"
)

func planText(end int64, before, last Witness) string {
	text := metadataVersion + " " + metadataPlan + " " + strconv.FormatInt(end, 10)
	return withWitness(withWitness(text, metadataBefore, before), metadataLast, last)
}

func advanceText(before Witness) string { return withWitness(metadataVersion, metadataBefore, before) }

func withWitness(text, name string, w Witness) string {
	if !w.known() {
		return text
	}
	return text + " " + name + " " + w.String()
}

// readCheckpoint refuses what a newer version wrote: ignoring its plan would
// apply events twice.
func readCheckpoint(offset int64, metadata string) (Checkpoint, error) {
	if offset < 0 {
		return Checkpoint{Planned: -1}, nil
	}
	c := Checkpoint{Offset: offset, Planned: -1, Exists: true}
	words := strings.Fields(metadata)
	if len(words) == 0 || !strings.HasPrefix(words[0], metadataFamily) {
		return c, nil
	}
	if words[0] != metadataVersion || len(words)%2 == 0 {
		return c, otherVersion(offset, metadata)
	}
	for i := 1; i < len(words); i += 2 {
		if !c.read(words[i], words[i+1]) {
			return c, otherVersion(offset, metadata)
		}
	}
	return c, nil
}

func otherVersion(offset int64, metadata string) error {
	return fmt.Errorf("checkpoint at offset %d has metadata %q, as of another version of weir: run that version", offset, metadata)
}

// read takes one named value over; false when it is none.
func (c *Checkpoint) read(name, value string) (ok bool) {
	var err error
	switch name {
	case metadataPlan:
		c.Planned, err = strconv.ParseInt(value, 10, 64)
		return err == nil && c.Planned >= c.Offset
	case metadataBefore:
		c.Before, ok = parseWitness(value)
	case metadataLast:
		c.Last, ok = parseWitness(value)
	}
	return ok
}

// Plan notes that the range [from, to) of a partition is about to be applied, with
// the last records before and in it. After a crash its reader finds it in the
// checkpoint. ErrStale when the
// assignment is no longer current, or when the answer was lost: the plan may be
// noted or not, and the next assignment's checkpoint says which. ErrUnavailable
// when the coordinator could not be asked in time: plan the same range again.
func (a *Assignment) Plan(ctx context.Context, tp TopicPartition, from, to int64, before, last Witness) error {
	if to < from || from < 0 {
		return fmt.Errorf("plan of %s partition %d: [%d, %d) is no range", tp.Topic, tp.Partition, from, to)
	}
	return a.commit(ctx, tp, from, planText(to, before, last))
}

// Advance notes that everything before offset to is applied, the last record of it
// being before, and drops the plan. Errors are those of Plan.
func (a *Assignment) Advance(ctx context.Context, tp TopicPartition, to int64, before Witness) error {
	return a.commit(ctx, tp, to, advanceText(before))
}

// commit retries while the coordinator moves and the assignment is current.
func (a *Assignment) commit(ctx context.Context, tp TopicPartition, offset int64, metadata string) error {
	where := fmt.Sprintf("checkpoint of group %s for %s partition %d at %d", a.group, tp.Topic, tp.Partition, offset)
	ctx, cancel := context.WithTimeout(ctx, a.log.cfg.RequestTimeout)
	defer cancel()
	var pause backoff
	for {
		err := a.commitOnce(ctx, tp, offset, metadata)
		switch {
		case err == nil:
			return nil
		case stale(err), errors.Is(err, ErrStale):
			a.end(fmt.Errorf("%w: %s: %w", ErrStale, where, err))
			return fmt.Errorf("%w: %s: %w", ErrStale, where, err)
		case errors.Is(err, kafka.GroupAuthorizationFailed), errors.Is(err, kafka.TopicAuthorizationFailed), errors.Is(err, kafka.OffsetMetadataTooLarge):
			return fmt.Errorf("%w: %s: %w", ErrRefused, where, err)
		}
		if pause.wait(ctx) != nil {
			return fmt.Errorf("%w: %s: %w", ErrUnavailable, where, err)
		}
	}
}

// stale reports whether the coordinator no longer takes commits of this
// generation and member.
func stale(err error) bool {
	return errors.Is(err, kafka.IllegalGeneration) || errors.Is(err, kafka.UnknownMemberId) ||
		errors.Is(err, kafka.FencedInstanceID) || errors.Is(err, kafka.RebalanceInProgress)
}

// commitOnce makes one attempt. One whose answer is lost ends the assignment: it
// may still be on its way, and reach the coordinator when later commits were made,
// and take the checkpoint back to before them. As another member of the group, this
// process goes on where the coordinator refuses the late commit (see Next).
func (a *Assignment) commitOnce(ctx context.Context, tp TopicPartition, offset int64, metadata string) error {
	c := &groupCall{call: &call{key: protocol.OffsetCommit, frame: a.commitFrame(tp, offset, metadata)}, group: a.group}
	body, err := a.log.exchange(ctx, c, a.log.cfg.RequestTimeout)
	if err == nil {
		return readCommit(body, tp)
	}
	if c.abandon() {
		return err
	}
	a.doubtful.Store(true)
	return fmt.Errorf("%w: the answer to a commit was lost: %w", ErrStale, err)
}

// Checkpoints reads a group's checkpoints for every partition of the topics.
// Anyone may read them at any time. ErrUnavailable is worth a retry; a checkpoint
// that can't be understood is an error that names it.
func (l *Log) Checkpoints(ctx context.Context, group string, topics []string) (map[TopicPartition]Checkpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.RequestTimeout)
	defer cancel()
	request := &kafka.OffsetFetchRequest{GroupID: group, Topics: make(map[string][]int, len(topics))}
	for _, topic := range topics {
		n := l.Partitions(topic)
		if n == 0 {
			return nil, fmt.Errorf("%w: %s", ErrUnknownTopic, topic)
		}
		for p := range n {
			request.Topics[topic] = append(request.Topics[topic], p)
		}
	}
	var pause backoff
	for {
		response, err := l.client.OffsetFetch(ctx, request)
		if err == nil {
			err = offsetErrors(response)
		}
		if err == nil {
			return readCheckpoints(group, request.Topics, response)
		}
		if pause.wait(ctx) != nil {
			return nil, fmt.Errorf("%w: checkpoints of group %s: %w", ErrUnavailable, group, err)
		}
	}
}

// offsetErrors is the first error of an answer; a group nobody has heard of is none.
func offsetErrors(response *kafka.OffsetFetchResponse) error {
	err := response.Error
	for _, partitions := range response.Topics {
		for _, p := range partitions {
			err = errors.Join(err, p.Error)
		}
	}
	if errors.Is(err, kafka.GroupIdNotFound) {
		return nil
	}
	return err
}

func readCheckpoints(group string, asked map[string][]int, response *kafka.OffsetFetchResponse) (map[TopicPartition]Checkpoint, error) {
	checkpoints := make(map[TopicPartition]Checkpoint)
	for topic, partitions := range asked {
		for _, p := range partitions {
			checkpoints[TopicPartition{topic, p}] = Checkpoint{Planned: -1}
		}
	}
	for topic, partitions := range response.Topics {
		for _, p := range partitions {
			c, err := readCheckpoint(p.CommittedOffset, p.Metadata)
			if err != nil {
				return nil, fmt.Errorf("group %s, %s partition %d: %w", group, topic, p.Partition, err)
			}
			checkpoints[TopicPartition{topic, p.Partition}] = c
		}
	}
	return checkpoints, nil
}
