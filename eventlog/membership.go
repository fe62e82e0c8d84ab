package eventlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
)

// Membership is this process's place in a consumer group. Next and Close are
// called by one goroutine.
type Membership struct {
	log    *Log
	group  string
	topics []string

	member  string // given by the coordinator
	current *Assignment
	beating sync.WaitGroup
}

// Assignment is what a member owns in one generation of its group. Its methods may
// be called at once.
type Assignment struct {
	// Generation of the group; it grows with every rebalance.
	Generation int

	// Partitions this member owns, by topic and partition. There may be none.
	Partitions []TopicPartition

	log           *Log
	group, member string
	leads         bool
	sizes         map[string]int // partitions by topic when they were assigned
	ctx           context.Context
	cancel        context.CancelCauseFunc
	left          chan struct{}             // closed when the member moves on: no more heartbeats
	doubtful      atomic.Bool               // a commit was sent and not answered
	heard         atomic.Pointer[time.Time] // when the last heartbeat that was answered was sent; nil: another may have the partitions
}

// Held says whether nobody else can have the partitions yet: the coordinator answered
// within the session timeout. For a process that was paused for longer it is false at
// once; what is about to be written then must not be, and the assignment ends.
func (a *Assignment) Held() bool {
	heard := a.heard.Load()
	if heard != nil && time.Since(*heard) < a.log.cfg.SessionTimeout {
		return true
	}
	a.end(fmt.Errorf("%w: the coordinator of group %s has not answered for a session timeout", ErrStale, a.group))
	return false
}

// Context ends when the assignment is no longer current, with the reason as its
// cause. Work for the assignment runs under it and ends before Next is called.
func (a *Assignment) Context() context.Context { return a.ctx }

// Checkpoints reads the group's checkpoints of the assigned partitions. Nobody but
// this member changes them while the assignment is current.
func (a *Assignment) Checkpoints(ctx context.Context) (map[TopicPartition]Checkpoint, error) {
	var topics []string
	for _, tp := range a.Partitions {
		if !slices.Contains(topics, tp.Topic) {
			topics = append(topics, tp.Topic)
		}
	}
	if len(topics) == 0 {
		return map[TopicPartition]Checkpoint{}, nil
	}
	all, err := a.log.Checkpoints(ctx, a.group, topics)
	if err != nil {
		return nil, err
	}
	mine := make(map[TopicPartition]Checkpoint, len(a.Partitions))
	for _, tp := range a.Partitions {
		mine[tp] = all[tp]
	}
	return mine, nil
}

func (a *Assignment) end(cause error) { a.cancel(cause) }

// Join prepares a membership of the group for the topics. The first Next joins.
func (l *Log) Join(ctx context.Context, group string, topics []string) (*Membership, error) {
	for _, topic := range topics {
		if l.Partitions(topic) == 0 {
			return nil, fmt.Errorf("%w: %s", ErrUnknownTopic, topic)
		}
	}
	if len(topics) == 0 {
		return nil, errors.New("group " + group + " is joined for no topic")
	}
	return &Membership{log: l, group: group, topics: slices.Clone(topics)}, ctx.Err()
}

// Next waits until the current assignment has ended, if there is one, and returns
// the next. Before calling it, end the work for the last assignment: the group
// waits for it, up to Config.RebalanceTimeout. It retries through broker restarts
// and returns an error only when ctx ends or the group can never be joined.
func (m *Membership) Next(ctx context.Context) (*Assignment, error) {
	if m.current != nil {
		select {
		case <-m.current.ctx.Done():
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		doubtful := m.current.doubtful.Load()
		m.leave()
		if doubtful {
			m.rename(ctx)
		}
	}
	var pause backoff
	for {
		a, err := m.join(ctx)
		if err == nil {
			m.begin(a)
			return a, nil
		}
		if m.log.ctx.Err() != nil {
			return nil, ErrClosed
		}
		if permanent(err) {
			return nil, fmt.Errorf("%w: join group %s: %w", ErrRefused, m.group, err)
		}
		if errors.Is(err, kafka.UnknownMemberId) {
			m.member = ""
		}
		if pause.wait(ctx) != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// permanent errors are those no retry mends.
func permanent(err error) bool {
	for _, code := range []kafka.Error{kafka.InvalidSessionTimeout, kafka.InconsistentGroupProtocol, kafka.InvalidGroupId, kafka.GroupAuthorizationFailed, kafka.GroupMaxSizeReached} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// Close ends the current assignment and leaves the group, so that others need not
// wait for the session to time out.
func (m *Membership) Close(ctx context.Context) error {
	if m.current != nil {
		m.current.end(ErrStale)
		m.leave()
	}
	if m.member == "" {
		return nil
	}
	err := m.leaveGroup(ctx)
	m.member = ""
	return err
}

// begin keeps the assignment alive from now on.
func (m *Membership) begin(a *Assignment) {
	a.ctx, a.cancel = context.WithCancelCause(m.log.ctx)
	a.left = make(chan struct{})
	now := time.Now()
	a.heard.Store(&now)
	m.current = a
	m.beating.Add(1)
	go func() {
		defer m.beating.Done()
		m.beat(a)
	}()
}

// leave stops the heartbeats of the current assignment.
func (m *Membership) leave() {
	close(m.current.left)
	m.beating.Wait()
	m.current = nil
}

// rename gives the member id up, so that the coordinator refuses whatever is still
// on its way under it: a follower that only joins again keeps its generation. When
// leaving fails the group waits for the old member's session to end.
func (m *Membership) rename(ctx context.Context) {
	if err := m.leaveGroup(ctx); err != nil {
		m.log.cfg.Logger.Warn("an unanswered commit made this member leave its group, which failed; the group goes on after a session timeout", "error", err)
	}
	m.member = ""
}

// beat tells the coordinator that this member lives. It goes on while the work of
// an ended assignment is being finished, so that the member keeps its place.
func (m *Membership) beat(a *Assignment) {
	period := min(m.log.cfg.SessionTimeout/5, time.Second)
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-a.left:
			return
		case <-m.log.ctx.Done():
			return
		case <-ticker.C:
		}
		sent := time.Now()
		err := m.heartbeat(m.log.ctx, a, m.log.cfg.SessionTimeout/2)
		switch {
		case err == nil:
			a.heard.Store(&sent)
		case errors.Is(err, kafka.RebalanceInProgress):
			a.heard.Store(&sent)
			a.end(fmt.Errorf("%w: group %s rebalances", ErrStale, m.group))
		case stale(err):
			a.heard.Store(nil)
			a.end(fmt.Errorf("%w: group %s: %w", ErrStale, m.group, err))
			return
		case !a.Held():
			a.end(fmt.Errorf("%w: the coordinator of group %s has not answered for a session timeout: %w", ErrStale, m.group, err))
		}
		if a.leads && m.grown(a) {
			a.end(fmt.Errorf("%w: a topic of group %s has more partitions", ErrStale, m.group))
		}
	}
}

// grown reports whether a topic has more partitions than were assigned.
func (m *Membership) grown(a *Assignment) bool {
	for topic, n := range a.sizes {
		if m.log.Partitions(topic) > n {
			return true
		}
	}
	return false
}
