package eventlog

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/murmur3"
	"golang.org/x/sync/semaphore"
)

// Log is an open log. All its methods may be called at once.
type Log struct {
	cfg       Config
	addr      net.Addr
	conns     *connections
	transport *kafka.Transport
	client    *kafka.Client
	metrics   *metrics
	budget    *semaphore.Weighted

	ctx    context.Context // ends when Close stops waiting
	cancel context.CancelCauseFunc

	counts atomic.Pointer[map[string]int] // partitions by topic

	mu        sync.Mutex
	closed    bool
	work      sync.WaitGroup // appenders that send, and the watcher
	appenders map[TopicPartition]*appender
}

// watchPeriod is how often the partition counts are looked up in the transport's
// view of the cluster, which costs no request.
const watchPeriod = 500 * time.Millisecond

// Open connects to the brokers, makes the topics that are missing and checks those
// that exist. It tries for Config.RequestTimeout before it says that no broker can
// be reached; that error and every other name what to change.
func Open(ctx context.Context, cfg Config) (*Log, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, err
	}
	topics := append(standardTopics(cfg), cfg.Topics...)
	l := newLog(cfg, m, topics)
	if l.transport.SASL, err = cfg.Access.mechanism(); err != nil {
		l.hangUp()
		return nil, err
	}
	if err := l.prepare(ctx, topics); err != nil {
		l.hangUp()
		return nil, err
	}
	l.work.Add(1)
	go l.watch()
	return l, nil
}

func newLog(cfg Config, m *metrics, topics []Topic) *Log {
	names := make([]string, len(topics))
	for i, t := range topics {
		names[i] = t.Name
	}
	conns := &connections{dial: cfg.Dial}
	l := &Log{
		cfg:       cfg,
		addr:      kafka.TCP(cfg.Brokers...),
		conns:     conns,
		transport: newTransport(cfg, conns, names),
		metrics:   m,
		budget:    semaphore.NewWeighted(int64(cfg.AppendBudget)),
		appenders: make(map[TopicPartition]*appender),
	}
	l.client = &kafka.Client{Addr: l.addr, Timeout: cfg.RequestTimeout, Transport: l.transport}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	l.transport.Context = l.ctx
	return l
}

// Close lets the appends under way finish until ctx ends, then drops them; they
// return ErrUnavailable, as fetches do. End tails and memberships before, by their
// contexts.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	already := l.closed
	l.closed = true
	l.mu.Unlock()
	if already {
		return nil
	}
	done := make(chan struct{})
	go func() {
		l.drained()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = fmt.Errorf("appends were still under way: %w", context.Cause(ctx))
	}
	l.hangUp()
	l.work.Wait()
	<-done
	return err
}

// hangUp ends everything that is still under way.
func (l *Log) hangUp() {
	l.cancel(ErrClosed)
	l.transport.CloseIdleConnections()
	l.conns.close()
	l.metrics.unregister()
}

// drained closes all appenders and waits until none sends.
func (l *Log) drained() {
	l.mu.Lock()
	appenders := make([]*appender, 0, len(l.appenders))
	for _, a := range l.appenders {
		appenders = append(appenders, a)
	}
	l.mu.Unlock()
	for _, a := range appenders {
		a.close()
	}
}

// appender finds or makes the appender of a partition.
func (l *Log) appender(topic string, partition int) (*appender, error) {
	if n := l.Partitions(topic); partition < 0 || partition >= n {
		return nil, fmt.Errorf("%w: %s partition %d, the topic has %d", ErrUnknownTopic, topic, partition, n)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	tp := TopicPartition{topic, partition}
	a := l.appenders[tp]
	if a == nil {
		a = &appender{log: l, topic: topic, partition: partition, acknowledged: l.metrics.acknowledged(topic)}
		a.frame = produceFrame(l.cfg.ClientID, topic, partition, l.cfg.RequestTimeout)
		l.appenders[tp] = a
	}
	return a, nil
}

// PartitionFor chooses the partition for all events of one type of a request. It
// depends on the batch id and the number of partitions only.
func (l *Log) PartitionFor(topic string, batch [16]byte) int {
	n := l.Partitions(topic)
	if n <= 1 {
		return 0
	}
	return int(murmur3.Sum64(batch[:]) % uint64(n))
}

// Partitions is the number of partitions of a topic, 0 when Open was not told of
// it. It can grow while the log is open.
func (l *Log) Partitions(topic string) int { return (*l.counts.Load())[topic] }

// Topics returns the names of all topics Open made sure of.
func (l *Log) Topics() []string { return l.transport.MetadataTopics }

// watch keeps the partition counts current.
func (l *Log) watch() {
	defer l.work.Done()
	ticker := time.NewTicker(watchPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-ticker.C:
		}
		if view, err := l.metadata(l.ctx); err == nil {
			l.count(view)
		}
	}
}

// count takes over the partition counts; they never shrink, since a topic cannot.
func (l *Log) count(view *kafka.MetadataResponse) {
	counts := make(map[string]int, len(view.Topics))
	if old := l.counts.Load(); old != nil {
		for topic, n := range *old {
			counts[topic] = n
		}
	}
	for _, t := range view.Topics {
		if n := len(t.Partitions); n > counts[t.Name] {
			counts[t.Name] = n
		}
	}
	l.counts.Store(&counts)
}

// metadata is the transport's view of the cluster.
func (l *Log) metadata(ctx context.Context) (*kafka.MetadataResponse, error) {
	return l.client.Metadata(ctx, &kafka.MetadataRequest{Topics: l.transport.MetadataTopics})
}
