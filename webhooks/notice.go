package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"weir/eventlog"
)

// Topics of what was told already, one partition each, so that all noticers agree.
const (
	// FirstsTopic holds what happened for the first time, such as a new error group.
	FirstsTopic = "weir.webhooks.firsts"

	// StatesTopic holds what became so and was told, such as a regression.
	StatesTopic = "weir.webhooks.states"
)

// Consumer groups of the noticers.
const (
	NoticeGroup = "weir.webhooks.notices"
	StatesGroup = "weir.webhooks.notices.states"
)

// Notice is what an event gives reason to tell.
type Notice struct {
	Type    string          // event type for endpoints, such as deploy.succeeded
	Payload json.RawMessage // any JSON value

	// First is the id of something that is told about only once, with the first
	// event in which it is seen; zero: every such event is told.
	First [16]byte

	// Check is asked about what one event alone does not show, and gives the
	// payload; false: there is nothing to tell. It is asked again until it gives no
	// error, and at most once for all events of a chunk that have the same First.
	// Nil: the event is enough.
	Check func(context.Context) (payload json.RawMessage, so bool, err error)
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
	Group     string   // consumer group; "": NoticeGroup
	Told      string   // topic of what was told; "": FirstsTopic
	Topics    []string // topics of events that can give reason for a notice

	// Read says what an event gives reason to tell.
	Read func(*eventlog.Record) []Notice

	// Ready returns once what Read knows beside the record is as new as any record
	// that was fetched before the call. Nil: Read knows nothing else.
	Ready func(context.Context) error

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
	orDefault(&cfg.Group, NoticeGroup)
	orDefault(&cfg.Told, FirstsTopic)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.step == nil {
		cfg.step = func(string) {}
	}
	return &Noticer{cfg: cfg, writer: newWriter(cfg.Log), decider: NewDecider(cfg.Log, cfg.Directory, cfg.Logger), firsts: newFirsts(mostFirsts)}
}

// Run notices until ctx ends (nil). It fails when the group can never be joined, or
// when what was told can no longer be read. Call it once.
func (n *Noticer) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	tailed := make(chan error, 1)
	go func() {
		err := tailTold(ctx, n.cfg.Log, n.cfg.Told, n.firsts)
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

// tailTold follows a topic of claims.
func tailTold(ctx context.Context, log NoticeLog, topic string, into *firsts) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		bounds, err := log.Bounds(ctx, topic)
		if err == nil {
			return log.Tail(ctx, topic, into.from(bounds[0]), into.take)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if final(err) || !sleep(ctx, pause) {
			return err
		}
	}
}

func (n *Noticer) run(ctx context.Context) error {
	if n.firsts.wait(ctx, 0) != nil {
		return nil
	}
	member, err := n.cfg.Log.Join(ctx, n.cfg.Group, n.cfg.Topics)
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
			c := checkpoints[tp]
			(&follower{Noticer: n, assignment: a, tp: tp, begun: c.Exists, next: c.Offset}).follow(ctx)
		}()
	}
	for range a.Partitions {
		<-ended
	}
	<-ctx.Done()
}
