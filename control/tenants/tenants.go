// Package tenants does what tenant events of operator projects ask: it sets the
// events per second of the project they name. It follows weir.events.tenant
// behind the log, so no client waits for it.
//
// Exactly once in effect. One process of all works at a time, the owner of the
// topic's first partition in the group; it takes the records of all partitions
// in the order of their received time, so that of two events about one project
// the later one holds, and advances a checkpoint after what it has applied. What
// is repeated after a crash is the last few records in the same order, which
// ends in the same state; a limit that is already so adds nothing to the log.
package tenants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/eventlog"
	"weir/internal/httpapi"
	"weir/schemas"
)

// Group is the consumer group.
const Group = "weir.tenants"

// Log is what a Follower needs of the log; *eventlog.Log is one.
type Log interface {
	Join(ctx context.Context, group string, topics []string) (*eventlog.Membership, error)
	Bounds(ctx context.Context, topic string) ([]eventlog.Bounds, error)
	Fetch(ctx context.Context, topic string, partition int, offset int64, maxBytes int, maxWait time.Duration) (eventlog.Chunk, error)
	Checkpoints(ctx context.Context, group string, topics []string) (map[eventlog.TopicPartition]eventlog.Checkpoint, error)
}

// Config of a Follower. Log, Apply and Operator must be given.
type Config struct {
	Log Log

	// Apply sets the limit of a project on behalf of an operator project. It may
	// be repeated. Its error is final unless it is of the server's side (5xx).
	Apply func(ctx context.Context, operatorID, projectID string, perSecond int64) error

	// Operator says whether a project is one. It spares Apply the events of all others.
	Operator func(projectID string) bool

	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Follower applies tenant events.
type Follower struct {
	cfg     Config
	topic   string
	applied *prometheus.CounterVec
}

// New makes a Follower.
func New(cfg Config) *Follower {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Follower{cfg: cfg, topic: eventlog.EventsTopic(schemas.Tenant)}
	f.applied = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "weir_tenant_limits_total", Help: "Tenant events of operator projects that name a limit, by outcome (applied or refused).",
	}, []string{"outcome"})
	if cfg.Registerer != nil {
		cfg.Registerer.MustRegister(f.applied)
	}
	return f
}

// Run follows until ctx ends, and returns nil then.
func (f *Follower) Run(ctx context.Context) error {
	for {
		err := f.member(ctx)
		if ctx.Err() != nil {
			return nil
		}
		f.cfg.Logger.Warn("tenant events are not followed at the moment; trying again", "error", err)
		if !sleep(ctx, time.Second) {
			return nil
		}
	}
}

func (f *Follower) member(ctx context.Context) error {
	m, err := f.cfg.Log.Join(ctx, Group, []string{f.topic})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = m.Close(ctx)
	}()
	for {
		a, err := m.Next(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(a.Partitions, eventlog.TopicPartition{Topic: f.topic}) {
			continue // another process works
		}
		work, cancel := context.WithCancel(a.Context())
		stop := context.AfterFunc(ctx, cancel)
		err = f.work(work, a)
		stop()
		cancel()
		if err != nil && ctx.Err() == nil && a.Context().Err() == nil {
			return err
		}
	}
}

// work follows all partitions until ctx ends.
func (f *Follower) work(ctx context.Context, a *eventlog.Assignment) error {
	next, err := f.start(ctx)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		records, moved, err := f.fetch(ctx, next)
		if err != nil {
			return err
		}
		for i := range records {
			if err := f.take(ctx, &records[i]); err != nil {
				return err
			}
		}
		for partition := range moved {
			tp := eventlog.TopicPartition{Topic: f.topic, Partition: partition}
			if err := a.Advance(ctx, tp, next[partition], eventlog.Witness{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// start is where each partition goes on.
func (f *Follower) start(ctx context.Context) (map[int]int64, error) {
	bounds, err := f.cfg.Log.Bounds(ctx, f.topic)
	if err != nil {
		return nil, err
	}
	checkpoints, err := f.cfg.Log.Checkpoints(ctx, Group, []string{f.topic})
	if err != nil {
		return nil, err
	}
	next := map[int]int64{}
	for _, b := range bounds {
		next[b.Partition] = b.Start
		at := checkpoints[eventlog.TopicPartition{Topic: f.topic, Partition: b.Partition}]
		if !at.Exists {
			continue
		}
		if at.Offset < b.Start || at.Offset > b.End {
			f.cfg.Logger.Error("tenant events were deleted before they were followed, or the log was made anew",
				"topic", f.topic, "partition", b.Partition, "checkpoint", at.Offset, "first", b.Start, "end", b.End,
				"do", "check the limits of the projects; it goes on with what is there")
			continue
		}
		next[b.Partition] = at.Offset
	}
	return next, nil
}

const (
	fetchBytes = 1 << 20
	fetchWait  = 500 * time.Millisecond
)

// fetch reads what there is in all partitions, in the order of time, and moves
// next. It waits a little when there is nothing.
func (f *Follower) fetch(ctx context.Context, next map[int]int64) (records []eventlog.Record, moved map[int]bool, err error) {
	moved = map[int]bool{}
	for partition, offset := range next {
		c, err := f.cfg.Log.Fetch(ctx, f.topic, partition, offset, fetchBytes, 0)
		if err != nil {
			return nil, nil, fmt.Errorf("%s partition %d: %w", f.topic, partition, err)
		}
		if c.Next > offset {
			next[partition], moved[partition] = c.Next, true
			records = append(records, c.Records...)
		}
	}
	if len(moved) == 0 {
		sleep(ctx, fetchWait)
	}
	slices.SortStableFunc(records, func(x, y eventlog.Record) int {
		return cmp.Or(x.Time.Compare(y.Time), cmp.Compare(x.Partition, y.Partition), cmp.Compare(x.Offset, y.Offset))
	})
	return records, moved, nil
}

// take does what one record asks. It returns an error only when ctx ended.
func (f *Follower) take(ctx context.Context, r *eventlog.Record) error {
	operator := string(r.Key)
	if !f.cfg.Operator(operator) {
		return nil
	}
	project, perSecond, ok := asked(r.Value)
	if !ok {
		return nil
	}
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := f.cfg.Apply(ctx, operator, project, perSecond)
		if err == nil {
			f.applied.WithLabelValues("applied").Inc()
			return nil
		}
		var refused *httpapi.Error
		if errors.As(err, &refused) && refused.Code.Status() < 500 && ctx.Err() == nil {
			f.applied.WithLabelValues("refused").Inc()
			f.cfg.Logger.Warn("a tenant event names a limit that can't be set", "operator", operator,
				"partition", r.Partition, "offset", r.Offset, "error", string(refused.Code))
			return nil
		}
		if !sleep(ctx, wait) {
			return ctx.Err()
		}
	}
}

// asked reads the project and its limit; false when the event names none.
func asked(value []byte) (project string, perSecond int64, ok bool) {
	e, err := schemas.Open(value)
	if err != nil || e.Type != schemas.Tenant {
		return "", 0, false
	}
	id, _ := schemas.Member(e.Data, "projectId")
	limit, given := schemas.Member(e.Data, "ingestLimitPerSecond")
	if !given || schemas.IsNull(limit) {
		return "", 0, false
	}
	project, named := schemas.String(id)
	perSecond, whole := schemas.Int(limit)
	return project, perSecond, named && whole
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
