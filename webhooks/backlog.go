package webhooks

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/eventlog"
)

// Backlog is what the dispatchers of all processes have not done yet.
type Backlog struct {
	Owed    int64         // records of decisions: at least one delivery of each is not begun, under way or not written down
	Waiting int64         // deliveries in the delay topics: retries, and what an endpoint could not take
	Oldest  time.Duration // age of the oldest record in Owed; 0: there is none
	At      time.Time     // when it was read; zero: never
}

// backlogPeriod is how often a BacklogWatch looks.
const backlogPeriod = 5 * time.Second

// BacklogWatch reads the backlog from the log now and then: any process can, whether
// it delivers or not.
type BacklogWatch struct {
	log    Log
	logger *slog.Logger
	topics []string // OwedTopic, then the delay topics
	latest atomic.Pointer[Backlog]
}

// NewBacklogWatch makes one and registers its metrics; it reads nothing until Run.
func NewBacklogWatch(log Log, logger *slog.Logger, reg prometheus.Registerer) *BacklogWatch {
	w := &BacklogWatch{log: log, logger: logger, topics: []string{OwedTopic}}
	for _, d := range defaultDelays() {
		w.topics = append(w.topics, retryTopic(d))
	}
	w.latest.Store(&Backlog{})
	gauge := func(name, help string, value func(Backlog) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(w.Latest()) })
	}
	if reg != nil {
		reg.MustRegister(
			gauge("weir_webhooks_backlog_owed_records", "Decisions with a delivery that is not begun or under way, in the whole log.", func(b Backlog) float64 { return float64(b.Owed) }),
			gauge("weir_webhooks_backlog_waiting_deliveries", "Deliveries that wait in the delay topics, in the whole log.", func(b Backlog) float64 { return float64(b.Waiting) }),
			gauge("weir_webhooks_backlog_oldest_seconds", "Age of the oldest decision that is not done.", func(b Backlog) float64 { return b.Oldest.Seconds() }),
		)
	}
	return w
}

// Latest is what was read last.
func (w *BacklogWatch) Latest() Backlog { return *w.latest.Load() }

// Run looks until ctx ends (nil). Call it once.
func (w *BacklogWatch) Run(ctx context.Context) error {
	for ok := true; ok; ok = sleep(ctx, backlogPeriod) {
		b, err := w.read(ctx)
		if err != nil {
			w.logger.Debug("the backlog of webhook deliveries cannot be read", "error", err)
			continue
		}
		w.latest.Store(&b)
	}
	return nil
}

func (w *BacklogWatch) read(ctx context.Context) (Backlog, error) {
	b := Backlog{At: time.Now()}
	checkpoints, err := w.log.Checkpoints(ctx, Group, w.topics)
	if err != nil {
		return b, err
	}
	for _, topic := range w.topics {
		bounds, err := w.log.Bounds(ctx, topic)
		if err != nil {
			return b, err
		}
		for _, one := range bounds {
			tp := eventlog.TopicPartition{Topic: topic, Partition: one.Partition}
			next := max(one.Start, checkpoints[tp].Offset)
			if topic != OwedTopic {
				b.Waiting += one.End - next
				continue
			}
			b.Owed += one.End - next
			if next < one.End {
				b.Oldest = max(b.Oldest, w.age(ctx, tp, next))
			}
		}
	}
	return b, nil
}

// age is how long ago a record was appended; 0 when it cannot be read.
func (w *BacklogWatch) age(ctx context.Context, tp eventlog.TopicPartition, offset int64) time.Duration {
	chunk, err := w.log.Fetch(ctx, tp.Topic, tp.Partition, offset, 1, scanWait)
	if err != nil || len(chunk.Records) == 0 {
		return 0
	}
	return max(0, time.Since(chunk.Records[0].Time))
}
