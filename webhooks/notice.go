package webhooks

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"weir/eventlog"
)

// FirstsTopic holds what happened for the first time, such as a new error group:
// one partition, so that all noticers agree on which event was the first.
const FirstsTopic = "weir.webhooks.firsts"

// NoticeGroup is the consumer group of the noticers.
const NoticeGroup = "weir.webhooks.notices"

// Notice is what an event gives reason to tell.
type Notice struct {
	Type    string          // event type for endpoints, such as deploy.succeeded
	Payload json.RawMessage // any JSON value

	// First is the id of something that is told about only once, with the first
	// event in which it is seen; zero: every such event is told.
	First [16]byte
}

// NoticeLog is what a Noticer needs of the log; *eventlog.Log is one.
type NoticeLog interface {
	Log
	Tail(ctx context.Context, topic string, from int64, fn func([]eventlog.Record) error) error
}

// NoticerConfig is what a Noticer needs.
type NoticerConfig struct {
	Log       NoticeLog
	Directory Directory
	Topics    []string // topics of events that can give reason for a notice

	// Read says what an event gives reason to tell; false: nothing. It is a pure
	// function of the record.
	Read func(*eventlog.Record) (Notice, bool)

	ClockSlack time.Duration // how far clocks may be apart (1 min)
	Logger     *slog.Logger

	// step is called between every two steps; tests stop the noticer there.
	step func(name string)
}

// Noticer decides what is owed because of events. It is no fold of a read model:
// its checkpoints are its own, and rebuilding anything never sends again. A notice
// is owed to endpoints that existed when its event was received, so a Noticer that
// begins with an old log sends nothing.
type Noticer struct {
	cfg     NoticerConfig
	writer  *writer
	decider *Decider
	firsts  *firsts
}

// NewNoticer makes a Noticer; it starts nothing.
func NewNoticer(cfg NoticerConfig) *Noticer {
	orDefault(&cfg.ClockSlack, time.Minute)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.step == nil {
		cfg.step = func(string) {}
	}
	return &Noticer{cfg: cfg, writer: newWriter(cfg.Log), decider: NewDecider(cfg.Log, cfg.Directory, cfg.Logger), firsts: newFirsts()}
}

// Run notices until ctx ends (nil). It fails when the group can never be joined, or
// when what was first can no longer be read. Call it once.
func (n *Noticer) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	tailed := make(chan error, 1)
	go func() {
		err := n.cfg.Log.Tail(ctx, FirstsTopic, eventlog.First, n.firsts.take)
		stop()
		tailed <- err
	}()
	err := n.run(ctx)
	stop()
	if tail := <-tailed; err == nil && !errors.Is(tail, context.Canceled) {
		err = tail
	}
	return err
}

func (n *Noticer) run(ctx context.Context) error {
	if n.firsts.wait(ctx, 0) != nil {
		return nil
	}
	member, err := n.cfg.Log.Join(ctx, NoticeGroup, n.cfg.Topics)
	if err != nil {
		return err
	}
	defer func() {
		leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = member.Close(leave)
	}()
	for {
		a, err := member.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		n.serve(ctx, a)
	}
}

// serve works for one assignment.
func (n *Noticer) serve(ctx context.Context, a *eventlog.Assignment) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(a.Context(), stop)()
	checkpoints, err := a.Checkpoints(ctx)
	for err != nil {
		n.cfg.Logger.Warn("notices wait: where they stand cannot be read", "error", err)
		if !sleep(ctx, time.Second) {
			return
		}
		checkpoints, err = a.Checkpoints(ctx)
	}
	ended := make(chan struct{})
	for _, tp := range a.Partitions {
		go func() {
			defer func() { ended <- struct{}{} }()
			n.follow(ctx, a, tp, checkpoints[tp])
		}()
	}
	for range a.Partitions {
		<-ended
	}
	<-ctx.Done()
}

// follow reads one partition in order.
func (n *Noticer) follow(ctx context.Context, a *eventlog.Assignment, tp eventlog.TopicPartition, c eventlog.Checkpoint) {
	next, decided := c.Offset, map[[16]byte]bool(nil)
	for pause := firstPause; ctx.Err() == nil; {
		err := n.chunk(ctx, a, tp, c.Exists, &next, &decided)
		switch {
		case err == nil:
			pause = firstPause
		case ctx.Err() != nil:
			return
		case isUnavailable(err) || errors.Is(err, eventlog.ErrOverloaded):
			sleep(ctx, pause)
			pause = min(2*pause, longestPause)
		default:
			n.cfg.Logger.Error("notices of this partition have stopped", "topic", tp.Topic, "partition", tp.Partition, "offset", next, "error", err)
			<-ctx.Done()
			return
		}
	}
}

// chunk notices what one fetch brings, then moves the checkpoint past it. A failure
// in between repeats the chunk; what was decided already is not decided again.
func (n *Noticer) chunk(ctx context.Context, a *eventlog.Assignment, tp eventlog.TopicPartition, begun bool, next *int64, decided *map[[16]byte]bool) error {
	chunk, err := n.cfg.Log.Fetch(ctx, tp.Topic, tp.Partition, *next, readBytes, readWait)
	if err != nil && !begun && errors.Is(err, eventlog.ErrBehindRetention) && *next == 0 {
		bounds, errBounds := n.cfg.Log.Bounds(ctx, tp.Topic)
		if errBounds == nil {
			*next = bounds[tp.Partition].Start // never begun: what retention took nobody waited for
		}
		return errBounds
	}
	if err != nil || len(chunk.Records) == 0 && chunk.Next == *next {
		return err
	}
	if *decided == nil && len(chunk.Records) > 0 {
		if *decided, err = n.recall(ctx, chunk.Records[0].Time.Add(-n.cfg.ClockSlack)); err != nil {
			return err
		}
	}
	if err := n.notice(ctx, tp, chunk.Records, *decided); err != nil {
		return err
	}
	n.cfg.step("decided")
	if err := a.Advance(ctx, tp, chunk.Next); err != nil {
		return err
	}
	*next = chunk.Next
	return nil
}

// recall reads which occasions were decided since a time, by the batch ids of their records.
func (n *Noticer) recall(ctx context.Context, since time.Time) (map[[16]byte]bool, error) {
	decided := map[[16]byte]bool{}
	for p := range n.cfg.Log.Partitions(OwedTopic) {
		from, err := n.cfg.Log.OffsetAt(ctx, OwedTopic, p, since)
		if err != nil {
			return nil, err
		}
		err = scan(ctx, n.cfg.Log, eventlog.TopicPartition{Topic: OwedTopic, Partition: p}, from, func(r *eventlog.Record) bool {
			decided[r.Batch] = true
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return decided, nil
}

// notice claims what is seen for the first time, then decides what is owed.
func (n *Noticer) notice(ctx context.Context, tp eventlog.TopicPartition, records []eventlog.Record, decided map[[16]byte]bool) error {
	notices := make([]Notice, len(records))
	told := make([]bool, len(records))
	for i := range records {
		notices[i], told[i] = n.cfg.Read(&records[i])
	}
	if err := n.claim(ctx, records, notices, told); err != nil {
		return err
	}
	for i := range records {
		r := &records[i]
		if !told[i] || notices[i].First != ([16]byte{}) && !n.firsts.is(notices[i].First, r) {
			continue
		}
		if err := n.owe(ctx, r, notices[i], decided); err != nil {
			return err
		}
	}
	return nil
}

func (n *Noticer) owe(ctx context.Context, r *eventlog.Record, notice Notice, decided map[[16]byte]bool) error {
	id := r.EventID()
	o := Occasion{Project: string(r.Key), Type: notice.Type, Payload: notice.Payload, At: r.Time, Existing: true,
		Cause: "event:" + text16(id), EventIDs: []string{text16(id)}}
	rec := n.decider.decide(o)
	set := n.decider.set(rec)
	if len(rec.Owed) == 0 || decided[set.Batch] {
		return nil
	}
	n.cfg.step("deciding")
	if err := n.writer.once(ctx, OwedTopic, set); err != nil {
		return err
	}
	decided[set.Batch] = true
	n.decider.announce(ctx, rec)
	return nil
}

// claim appends the firsts that nobody has claimed, and waits until this process
// has read them back: of two claims the one that is first in the log holds.
func (n *Noticer) claim(ctx context.Context, records []eventlog.Record, notices []Notice, told []bool) error {
	var values [][]byte
	claimed := map[[16]byte]bool{}
	for i := range records {
		first := notices[i].First
		if !told[i] || first == ([16]byte{}) || claimed[first] || n.firsts.known(first) {
			continue
		}
		claimed[first] = true
		id := records[i].EventID()
		values = append(values, append(append([]byte(nil), first[:]...), id[:]...))
	}
	if len(values) == 0 {
		return nil
	}
	n.cfg.step("claiming")
	first, err := n.cfg.Log.Append(ctx, FirstsTopic, 0, eventlog.Set{Key: records[0].Key, Batch: digest("firsts", randomID()), Time: time.Now(), Values: values})
	if err != nil {
		return err // claiming again is harmless: the first claim holds
	}
	n.cfg.step("claimed")
	return n.firsts.wait(ctx, first+int64(len(values)))
}

func text16(id [16]byte) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 0, 32)
	for _, c := range id {
		b = append(b, digits[c>>4], digits[c&15])
	}
	return string(b)
}

// short is enough to tell events apart that claim the same thing.
func short(id [16]byte) uint64 { return binary.BigEndian.Uint64(id[:8]) }
