package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"weir/eventlog"
)

const (
	pollEvery   = time.Second
	pollTimeout = 5 * time.Second
)

// ErrUnknownProjection names a projection the Monitor does not watch.
var ErrUnknownProjection = errors.New("no such projection")

// Progress is how far one projection is.
type Progress struct {
	Projection string
	Version    int
	// Generation of the live tables; 0 while there are none.
	Generation int
	// Problem is why this is not known or old; "" when all is well.
	Problem    string
	CheckedAt  time.Time
	LagRecords int64
	// LagSeconds is the age of the oldest record that is not folded, within a
	// second; 0 when there is none.
	LagSeconds float64
	Partitions []PartitionProgress
	// Rebuild is the generation that is being built, nil when there is none.
	Rebuild *RebuildProgress
	// Kept are the old generations whose tables are still there.
	Kept []int
}

// PartitionProgress is how far one partition is.
type PartitionProgress struct {
	Topic      string
	Partition  int
	Folded     int64 // offset after the last folded record
	End        int64 // offset after the last record of the log
	LagRecords int64
	LagSeconds float64
}

// Monitor follows the progress of projections from the outside: it reads the
// ends of the log and the checkpoints of the groups, and needs no projector in
// its process.
type Monitor struct {
	log         *eventlog.Log
	conn        driver.Conn
	projections []Projection
	logger      *slog.Logger
	lagRecords  *prometheus.GaugeVec
	lagSeconds  *prometheus.GaugeVec
	lastPoll    prometheus.Gauge

	mu          sync.Mutex
	progress    map[string]*Progress // values are replaced, never changed
	ends        *ends
	waits       map[string]*wait
	generations map[string]generationRead
	samples     map[string][]sample
}

// NewMonitor watches projections. conn is on the read models' database.
func NewMonitor(log *eventlog.Log, conn driver.Conn, watched []Projection, logger *slog.Logger, r prometheus.Registerer) *Monitor {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "weir", Subsystem: "fold", Name: name, Help: help},
			[]string{"projection", "topic", "partition"})
	}
	if logger == nil {
		logger = slog.Default()
	}
	m := &Monitor{
		log: log, conn: conn, projections: watched, logger: logger,
		lagRecords: gauge("lag_records", "Records appended and not yet folded."),
		lagSeconds: gauge("lag_seconds", "Age of the oldest record not yet folded."),
		lastPoll: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "weir", Subsystem: "fold", Name: "lag_checked_timestamp_seconds",
			Help: "When the lag was last read."}),
		progress:    map[string]*Progress{},
		ends:        newEnds(log),
		waits:       map[string]*wait{},
		generations: map[string]generationRead{},
		samples:     map[string][]sample{},
	}
	for _, p := range watched {
		m.waits[p.Name] = &wait{}
		m.progress[p.Name] = &Progress{Projection: p.Name, Version: p.Version, Problem: "not looked at yet"}
	}
	if r != nil {
		r.MustRegister(m.lagRecords, m.lagSeconds, m.lastPoll)
	}
	return m
}

// Run polls until ctx ends, and returns nil then.
func (m *Monitor) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		m.poll(ctx)
		pause(ctx, pollEvery)
	}
	return nil
}

// Progress is how far a projection is, as of the last poll. Any goroutine may
// call it.
func (m *Monitor) Progress(projection string) (Progress, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.progress[projection]
	if !ok {
		return Progress{}, fmt.Errorf("%w: %q", ErrUnknownProjection, projection)
	}
	return *p, nil
}

// LastEvent is the received time of the newest record of a topic, within a
// second; zero when there is none.
func (m *Monitor) LastEvent(topic string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ends.lastEvent(topic)
}

// Lag is how far a projection is behind in one topic: records, and the age in
// seconds of the oldest one not folded. A topic it does not fold has no lag.
func (p Progress) Lag(topic string) (records int64, seconds float64) {
	for _, part := range p.Partitions {
		if part.Topic == topic {
			records += part.LagRecords
			seconds = max(seconds, part.LagSeconds)
		}
	}
	return records, seconds
}
