package projections

import (
	"context"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"weir/eventlog"
	"weir/readmodel/tables"
)

// auditEvery is how often a projection is audited; one audit reads three narrow
// columns of its table.
const auditEvery = time.Minute

// Audited is what an audit compares: one row per record, with where the record is.
type Audited struct {
	Projection Projection
	// Table has a row per record and the columns partition and offset.
	Table tables.Table
	// Topic is the expression that gives a row's topic; the table may be filled
	// from several.
	Topic string
}

// Finding is one partition of a projection whose rows are not its records.
type Finding struct {
	Projection, Topic string
	Partition         int
	// Missing and Repeated are records; both may be a lower bound.
	Missing, Repeated int64
	Text              string
}

// Auditor counts, all the time, whether every record up to the checkpoint is in
// the table or in quarantine, once. It needs no projector in its process.
type Auditor struct {
	log      *eventlog.Log
	conn     driver.Conn
	audited  []Audited
	logger   *slog.Logger
	missing  *prometheus.GaugeVec
	repeated *prometheus.GaugeVec
	last     *prometheus.GaugeVec

	mu       sync.Mutex
	findings map[string][]Finding
}

// NewAuditor audits tables. conn is on the read models' database and should have
// a read timeout of AnswerTimeout.
func NewAuditor(log *eventlog.Log, conn driver.Conn, audited []Audited, logger *slog.Logger, r prometheus.Registerer) *Auditor {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "weir", Subsystem: "fold", Name: name, Help: help}, labels)
	}
	a := &Auditor{
		log: log, conn: conn, audited: audited, logger: logger,
		missing:  gauge("missing_records", "Records before the checkpoint that are neither in the table nor in quarantine.", "projection", "topic", "partition"),
		repeated: gauge("repeated_records", "Rows of records that are in the table or quarantine more than once.", "projection", "topic", "partition"),
		last:     gauge("checked_timestamp_seconds", "When the projection was last audited.", "projection"),
		findings: map[string][]Finding{},
	}
	if r != nil {
		r.MustRegister(a.missing, a.repeated, a.last)
	}
	return a
}

// Run audits until ctx ends, and returns nil then.
func (a *Auditor) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		for _, what := range a.audited {
			if err := a.audit(ctx, what); err != nil && ctx.Err() == nil {
				a.logger.Warn("an audit could not be made; it is tried again", "projection", what.Projection.Name, "error", err)
			}
		}
		pause(ctx, auditEvery)
	}
	return nil
}

// Findings are what the last audit of a projection found; none is good. Any
// goroutine may call it.
func (a *Auditor) Findings(projection string) []Finding {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.findings[projection])
}

// audit compares one projection. The checkpoints are read before the rows: all
// rows before them are there, and later ones are left out.
func (a *Auditor) audit(ctx context.Context, what Audited) error {
	p := what.Projection
	s, err := look(ctx, a.conn)
	if err != nil {
		return err
	}
	live, ok := s.live(p)
	if !ok || s.mixed(p) {
		return nil
	}
	checkpoints, err := a.log.Checkpoints(ctx, Group(p.Name, live.Generation.Generation), p.Topics)
	if err != nil {
		return err
	}
	began, err := readStarts(ctx, a.conn, p.Name, live.Generation.Generation)
	if err != nil {
		return err
	}
	there, err := a.count(ctx, what, live.Generation, checkpoints)
	if err != nil {
		return err
	}
	again, err := look(ctx, a.conn)
	if err != nil {
		return err
	}
	if now, ok := again.live(p); !ok || now.Generation != live.Generation {
		return nil // swapped meanwhile
	}
	var found []Finding
	for tp, c := range checkpoints {
		from, knows := began[tp]
		if !c.Exists || !knows {
			continue
		}
		f := there[tp].against(from, c.Offset)
		f.Projection, f.Topic, f.Partition = p.Name, tp.Topic, tp.Partition
		n := strconv.Itoa(tp.Partition)
		a.missing.WithLabelValues(p.Name, tp.Topic, n).Set(float64(f.Missing))
		a.repeated.WithLabelValues(p.Name, tp.Topic, n).Set(float64(f.Repeated))
		if f.Text != "" {
			found = append(found, f)
			a.logger.Error("rows are not what the log holds", "projection", p.Name, "topic", tp.Topic, "partition", tp.Partition, "finding", f.Text)
		}
	}
	a.last.WithLabelValues(p.Name).SetToCurrentTime()
	a.mu.Lock()
	a.findings[p.Name] = found
	a.mu.Unlock()
	return nil
}

// moments stand for the set of offsets that is there: how many, their sum and the
// sum of their squares.
type moments struct {
	rows         uint64
	sum, squares big.Int
}

// count reads the moments of table and quarantine before the checkpoints.
func (a *Auditor) count(ctx context.Context, what Audited, g tables.Generation, before map[eventlog.TopicPartition]eventlog.Checkpoint) (map[eventlog.TopicPartition]*moments, error) {
	found := map[eventlog.TopicPartition]*moments{}
	for tp, c := range before {
		found[tp] = &moments{}
		if !c.Exists {
			continue
		}
		where := " WHERE `partition` = ? AND `offset` < ?"
		query := "SELECT count(), sum(toInt256(o)), sum(toInt256(o) * toInt256(o)) FROM (" +
			"SELECT `offset` AS o FROM " + what.Table.Name + where + " AND " + what.Topic + " = ? UNION ALL " +
			"SELECT `offset` AS o FROM quarantine" + where + " AND topic = ? AND projection = ? AND generation = ?)"
		m := found[tp]
		err := a.conn.QueryRow(ctx, query, tp.Partition, c.Offset, tp.Topic, tp.Partition, c.Offset, tp.Topic, g.Projection, g.Generation).
			Scan(&m.rows, &m.sum, &m.squares)
		if err != nil {
			return nil, fmt.Errorf("counting the rows of %s: %w", what.Table.Name, err)
		}
	}
	return found, nil
}

// against compares with the offsets from a first one up to a checkpoint, each of
// them once. Equal counts with other sums mean that as many are missing as are
// there twice.
func (m *moments) against(from, to int64) Finding {
	want := int64(0)
	var sum, squares big.Int
	if to > from {
		want = to - from
		sum.Sub(sumBelow(to), sumBelow(from))
		squares.Sub(squaresBelow(to), squaresBelow(from))
	}
	var f Finding
	switch rows := int64(m.rows); {
	case rows < want:
		f.Missing = want - rows
		f.Text = fmt.Sprintf("%d of the %d records at [%d,%d) are missing", f.Missing, want, from, to)
	case rows > want:
		f.Repeated = rows - want
		f.Text = fmt.Sprintf("there are %d rows for the %d records at [%d,%d)", rows, want, from, to)
	case m.sum.Cmp(&sum) != 0 || m.squares.Cmp(&squares) != 0:
		f.Missing, f.Repeated = 1, 1
		f.Text = fmt.Sprintf("the %d rows are not of the %d records at [%d,%d): some are missing and as many are there twice", rows, want, from, to)
	}
	return f
}

// sumBelow is the sum of all numbers from 0 to n-1, squaresBelow of their squares.
func sumBelow(n int64) *big.Int {
	b := big.NewInt(n)
	b.Mul(b, big.NewInt(n-1))
	return b.Rsh(b, 1)
}

func squaresBelow(n int64) *big.Int {
	b := big.NewInt(n)
	b.Mul(b, big.NewInt(n-1))
	b.Mul(b, new(big.Int).Add(big.NewInt(2*n), big.NewInt(-1)))
	return b.Div(b, big.NewInt(6))
}
