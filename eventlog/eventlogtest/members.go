package eventlogtest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"weir/eventlog"
)

func join(t *testing.T, l *eventlog.Log, group, topic string) *eventlog.Membership {
	t.Helper()
	m, err := l.Join(t.Context(), group, []string{topic})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func next(t *testing.T, m *eventlog.Membership) *eventlog.Assignment {
	t.Helper()
	a, err := m.Next(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// together runs Next of several members at once, as a rebalance needs.
func together(t *testing.T, members ...*eventlog.Membership) []*eventlog.Assignment {
	t.Helper()
	assignments := make([]*eventlog.Assignment, len(members))
	errs := make(chan error, len(members))
	for i, m := range members {
		go func() {
			var err error
			assignments[i], err = m.Next(patient(t))
			errs <- err
		}()
	}
	for range members {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	return assignments
}

func ended(t *testing.T, a *eventlog.Assignment) {
	t.Helper()
	select {
	case <-a.Context().Done():
	case <-patient(t).Done():
		t.Fatal("the assignment did not end")
	}
	if !errors.Is(context.Cause(a.Context()), eventlog.ErrStale) {
		t.Errorf("assignment ended because %v, want ErrStale", context.Cause(a.Context()))
	}
}

// none is no witness.
var none eventlog.Witness

// checkpoints: plan and advance are read back by anyone, and survive the member.
func checkpoints(t *testing.T, s *suite) {
	topic, group := unique(t), unique(t)
	l := s.open(t, topic, 2, nil)
	mustAppend(t, l, topic, 1, set(1, 30))
	tp0, tp1 := eventlog.TopicPartition{Topic: topic}, eventlog.TopicPartition{Topic: topic, Partition: 1}
	records := readAll(t, l, topic, 1)
	tenth, last := records[9].Witness(), records[24].Witness()
	expect := func(tp eventlog.TopicPartition, want eventlog.Checkpoint) {
		t.Helper()
		all, err := l.Checkpoints(patient(t), group, []string{topic})
		if err != nil {
			t.Fatal(err)
		}
		if all[tp] != want {
			t.Errorf("checkpoint of partition %d is %+v, want %+v", tp.Partition, all[tp], want)
		}
	}
	expect(tp1, eventlog.Checkpoint{Planned: -1})
	m := join(t, l, group, topic)
	a := next(t, m)
	if !slices.Equal(a.Partitions, []eventlog.TopicPartition{tp0, tp1}) {
		t.Fatalf("assigned %v", a.Partitions)
	}
	for _, step := range []error{a.Plan(patient(t), tp1, 0, 10, none, none), a.Advance(patient(t), tp1, 10, tenth)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	expect(tp1, eventlog.Checkpoint{Offset: 10, Planned: -1, Before: tenth, Exists: true})
	expect(tp0, eventlog.Checkpoint{Planned: -1})
	if err := a.Plan(patient(t), tp1, 10, 25, tenth, last); err != nil {
		t.Fatal(err)
	}
	planned := eventlog.Checkpoint{Offset: 10, Planned: 25, Before: tenth, Last: last, Exists: true}
	expect(tp1, planned)
	if err := m.Close(patient(t)); err != nil {
		t.Fatal(err)
	}
	if err := a.Advance(patient(t), tp1, 25, last); !errors.Is(err, eventlog.ErrStale) {
		t.Errorf("advance after leaving: %v, want ErrStale", err)
	}
	expect(tp1, planned)
	again := join(t, l, group, topic)
	mine, err := next(t, again).Checkpoints(patient(t))
	if err != nil || mine[tp1] != planned {
		t.Errorf("the next member reads %+v, %v", mine, err)
	}
	if err := again.Close(patient(t)); err != nil {
		t.Fatal(err)
	}
}

// rebalance: a new member gets its share, the old assignment ends and can no
// longer commit; a topic that grows is shared out anew.
func rebalance(t *testing.T, s *suite) {
	topic, group := unique(t), unique(t)
	l := s.open(t, topic, 4, nil)
	m1, m2 := join(t, l, group, topic), join(t, l, group, topic)
	first := next(t, m1)
	both := together(t, m1, m2)
	ended(t, first)
	if len(both[0].Partitions)+len(both[1].Partitions) != 4 || len(both[0].Partitions) != 2 {
		t.Errorf("shares %v and %v", both[0].Partitions, both[1].Partitions)
	}
	tp := first.Partitions[0]
	if err := first.Plan(patient(t), tp, 0, 1, none, none); !errors.Is(err, eventlog.ErrStale) {
		t.Errorf("plan of the last generation: %v, want ErrStale", err)
	}
	if err := both[0].Plan(patient(t), both[0].Partitions[0], 0, 1, none, none); err != nil {
		t.Errorf("plan of the current generation: %v", err)
	}
	addPartitions(t, s.client(t), topic, 6)
	grown := together(t, m1, m2)
	if len(grown[0].Partitions) != 3 || len(grown[1].Partitions) != 3 {
		t.Errorf("shares of the grown topic %v and %v", grown[0].Partitions, grown[1].Partitions)
	}
	if err := m2.Close(patient(t)); err != nil {
		t.Fatal(err)
	}
	if alone := next(t, m1); len(alone.Partitions) != 6 {
		t.Errorf("after the other left: %v", alone.Partitions)
	}
	if err := m1.Close(patient(t)); err != nil {
		t.Fatal(err)
	}
}

// deadMember: the partitions of a member that falls silent go to the others within
// a session timeout, and what it planned is there for them.
func deadMember(t *testing.T, s *suite) {
	topic, group := unique(t), unique(t)
	l := s.open(t, topic, 2, nil)
	dying := s.open(t, topic, 2, nil)
	m1, m2 := join(t, l, group, topic), join(t, dying, group, topic)
	next(t, m1)
	both := together(t, m1, m2)
	lost := both[1].Partitions[0]
	if err := both[1].Plan(patient(t), lost, 0, 7, none, none); err != nil {
		t.Fatal(err)
	}
	if err := dying.Close(patient(t)); err != nil { // without leaving the group
		t.Fatal(err)
	}
	<-both[1].Context().Done()
	alone := next(t, m1)
	if len(alone.Partitions) != 2 {
		t.Fatalf("the survivor has %v", alone.Partitions)
	}
	mine, err := alone.Checkpoints(patient(t))
	if err != nil || mine[lost].Planned != 7 {
		t.Errorf("the survivor reads %+v, %v", mine, err)
	}
	if err := m1.Close(patient(t)); err != nil {
		t.Fatal(err)
	}
}

// groups: listed by prefix, and forgotten on request.
func groups(t *testing.T, s *suite) {
	topic, group := unique(t), unique(t)
	l := s.open(t, topic, 1, nil)
	m := join(t, l, group, topic)
	a := next(t, m)
	if err := a.Advance(patient(t), eventlog.TopicPartition{Topic: topic}, 0, none); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(patient(t)); err != nil {
		t.Fatal(err)
	}
	if names, err := l.Groups(patient(t), group); err != nil || !slices.Equal(names, []string{group}) {
		t.Errorf("groups %v, %v", names, err)
	}
	if err := l.DeleteGroup(patient(t), group); err != nil {
		t.Fatal(err)
	}
	if err := l.DeleteGroup(patient(t), group); err != nil {
		t.Errorf("deleting it again: %v", err)
	}
	all, err := l.Checkpoints(patient(t), group, []string{topic})
	if err != nil || all[eventlog.TopicPartition{Topic: topic}].Exists {
		t.Errorf("checkpoints of a deleted group: %+v, %v", all, err)
	}
}
