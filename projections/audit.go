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
// columns of its widest table.
const auditEvery = time.Minute

// Finding is a table of a projection whose rows are not its records.
type Finding struct {
	Projection, Topic, Table string
	Partition                int // -1: of all partitions together
	// Missing and Repeated are records; both may be a lower bound.
	Missing, Repeated int64
	Text              string
}

// Where is the part of the log that it is about, for people.
func (f Finding) Where() string {
	if f.Partition < 0 {
		return f.Topic
	}
	return fmt.Sprintf("%s partition %d", f.Topic, f.Partition)
}

// Auditor counts, all the time, whether every record up to the checkpoint is in
// each table that its projection measures, or in quarantine, once: what was
// appended is folded, quarantined, or passed over by a measure that says so. It
// needs no projector in its process.
type Auditor struct {
	log      *eventlog.Log
	conn     driver.Conn
	audited  []Projection
	logger   *slog.Logger
	missing  *prometheus.GaugeVec
	repeated *prometheus.GaugeVec
	last     *prometheus.GaugeVec
	tallies  tallies // Run's goroutine alone

	mu       sync.Mutex
	findings map[string][]Finding
}

// NewAuditor audits projections. conn is on the read models' database and should
// have a read timeout of AnswerTimeout.
func NewAuditor(log *eventlog.Log, conn driver.Conn, audited []Projection, logger *slog.Logger, r prometheus.Registerer) *Auditor {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "weir", Subsystem: "fold", Name: name, Help: help}, labels)
	}
	place := []string{"projection", "table", "topic", "partition"}
	a := &Auditor{
		log: log, conn: conn, audited: audited, logger: logger, tallies: tallies{},
		missing:  gauge("missing_records", "Records before the checkpoint that are neither in the table nor in quarantine.", place...),
		repeated: gauge("repeated_records", "Rows of records that are in the table or quarantine more than once.", place...),
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
		for _, p := range a.audited {
			if err := a.audit(ctx, p); err != nil && ctx.Err() == nil {
				a.logger.Warn("an audit could not be made; it is tried again", "projection", p.Name, "error", err)
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

// auditing is one audit of one projection.
type auditing struct {
	*Auditor
	projection Projection
	generation int
	began      starts
	at         vector // checkpoints, read before the rows: all rows before them are there
	starts     vector // first offsets of the log
}

// audit compares one projection.
func (a *Auditor) audit(ctx context.Context, p Projection) error {
	s, err := look(ctx, a.conn)
	if err != nil {
		return err
	}
	live, ok := s.live(p)
	if !ok || s.mixed(p) {
		return nil
	}
	one := &auditing{Auditor: a, projection: p, generation: live.Generation.Generation, at: vector{}, starts: vector{}}
	retried, err := one.retried(ctx)
	if err != nil {
		return err
	}
	if err := one.prepare(ctx); err != nil {
		return err
	}
	found := []Finding{}
	for _, m := range p.Measures {
		compare := one.placed
		if !m.placed() {
			compare = one.sums
		}
		more, err := compare(ctx, m)
		if err != nil {
			return fmt.Errorf("counting the rows of %s: %w", m.Table.Name, err)
		}
		found = append(found, more...)
	}
	again, err := look(ctx, a.conn)
	if err != nil {
		return err
	}
	if now, ok := again.live(p); !ok || now.Generation != live.Generation {
		return nil // swapped meanwhile
	}
	if now, err := one.retried(ctx); err != nil || now != retried {
		return err // what was retried meanwhile is counted in one place or the other
	}
	a.publish(p, found)
	return nil
}

func (a *Auditor) publish(p Projection, all []Finding) {
	var found []Finding
	for _, f := range all {
		partition := "all"
		if f.Partition >= 0 {
			partition = strconv.Itoa(f.Partition)
		}
		a.missing.WithLabelValues(p.Name, f.Table, f.Topic, partition).Set(float64(f.Missing))
		a.repeated.WithLabelValues(p.Name, f.Table, f.Topic, partition).Set(float64(f.Repeated))
		if f.Text != "" {
			found = append(found, f)
			a.logger.Error("rows are not what the log holds", "projection", p.Name, "table", f.Table, "topic", f.Topic, "partition", partition, "finding", f.Text)
		}
	}
	a.last.WithLabelValues(p.Name).SetToCurrentTime()
	a.mu.Lock()
	a.findings[p.Name] = found
	a.mu.Unlock()
}

// prepare reads where the generation began and where it is.
func (a *auditing) prepare(ctx context.Context) (err error) {
	if a.began, err = readStarts(ctx, a.conn, a.projection.Name, a.generation); err != nil {
		return err
	}
	checkpoints, err := a.log.Checkpoints(ctx, Group(a.projection.Name, a.generation), a.projection.Topics)
	if err != nil {
		return err
	}
	for tp, c := range checkpoints {
		if from, knows := a.began[tp]; c.Exists && knows {
			a.at[tp] = max(from, c.Offset)
		}
	}
	for _, topic := range a.projection.Topics {
		bounds, err := a.log.Bounds(ctx, topic)
		if err != nil {
			return err
		}
		for _, b := range bounds {
			a.starts[topicPartition(topic, b.Partition)] = b.Start
		}
	}
	return nil
}

// retried is how many records of the generation were taken out of quarantine, and
// how many are on their way.
func (a *auditing) retried(ctx context.Context) (n [2]uint64, err error) {
	ctx, cancel := steady(ctx)
	defer cancel()
	query := fmt.Sprintf("SELECT countIf(tupleElement(l, 2) = %d), countIf(tupleElement(l, 2) = %d) FROM (", tables.RetryDone, tables.RetryPlanned)
	err = a.conn.QueryRow(ctx, query+latestRetries(a.projection.Name, a.generation)+")").Scan(&n[0], &n[1])
	return n, err
}

// placed compares a table that tells where each row's record is, by partition.
func (a *auditing) placed(ctx context.Context, m Measure) ([]Finding, error) {
	var found []Finding
	for tp, to := range a.at {
		f := Finding{}
		if m.Of == nil {
			rows, err := a.rows(ctx, m, tp, to, true)
			if err != nil {
				return nil, err
			}
			f = rows.against(a.began[tp], to)
		} else {
			want, err := a.tally(ctx, m, tp, to)
			if err != nil {
				return nil, err
			}
			rows, err := a.rows(ctx, m, tp, to, false)
			if err != nil {
				return nil, err
			}
			if want == nil {
				continue // retention has taken what would have to be counted
			}
			f = rows.compared(want, to)
		}
		f.Projection, f.Table, f.Topic, f.Partition = a.projection.Name, m.Table.Name, tp.Topic, tp.Partition
		found = append(found, f)
	}
	return found, nil
}

// moments stand for the set of offsets that is there: how many, their sum and the
// sum of their squares.
type moments struct {
	rows         uint64
	sum, squares big.Int
}

// rows reads the moments of the table before an offset, and those of the
// quarantine if they belong to them.
func (a *auditing) rows(ctx context.Context, m Measure, tp eventlog.TopicPartition, to int64, quarantined bool) (*moments, error) {
	found := &moments{}
	from := fmt.Sprintf("SELECT `offset` AS o FROM `%s` WHERE %s = %d AND `offset` < %d AND %s", m.Table.Name, m.Partition, tp.Partition, to, m.ofTopic(tp.Topic))
	if quarantined {
		from += fmt.Sprintf(" UNION ALL SELECT `offset` AS o FROM quarantine WHERE `partition` = %d AND `offset` < %d AND topic = '%s' AND %s",
			tp.Partition, to, tp.Topic, inQuarantine(a.projection.Name, a.generation))
	}
	err := a.conn.QueryRow(ctx, "SELECT count(), sum(toInt256(o)), sum(toInt256(o) * toInt256(o)) FROM ("+from+")").Scan(&found.rows, &found.sum, &found.squares)
	return found, err
}

// sums compares a table of sums over all partitions. Blocks may come in while it
// is read, so what it holds lies between what was folded before and what was folded
// or planned after.
func (a *auditing) sums(ctx context.Context, m Measure) ([]Finding, error) {
	least, most := int64(0), int64(0)
	for tp, to := range a.at {
		n, err := a.expected(ctx, m, tp, to)
		if err != nil || n < 0 {
			return nil, err
		}
		least += n
	}
	var rows uint64
	if err := a.conn.QueryRow(ctx, "SELECT toUInt64("+m.Rows+") FROM `"+m.Table.Name+"`").Scan(&rows); err != nil {
		return nil, err
	}
	checkpoints, err := a.log.Checkpoints(ctx, Group(a.projection.Name, a.generation), a.projection.Topics)
	if err != nil {
		return nil, err
	}
	most = least
	for tp, c := range checkpoints {
		from, knows := a.at[tp]
		if !knows {
			return nil, nil // a partition that began just now
		}
		more, err := a.between(ctx, m, tp, span{from, max(c.Offset, c.Planned)})
		if err != nil {
			return nil, err
		}
		most += more
	}
	f := Finding{Projection: a.projection.Name, Table: m.Table.Name, Topic: a.projection.Topics[0], Partition: -1}
	switch has := int64(rows); {
	case has < least:
		f.Missing = least - has
		f.Text = fmt.Sprintf("%d of %d records are missing in the sums", f.Missing, least)
	case has > most:
		f.Repeated = has - most
		f.Text = fmt.Sprintf("the sums are of %d records, the log has %d", has, most)
	}
	return []Finding{f}, nil
}

// expected is what the records before an offset must have made; below zero when
// retention has taken some that would have to be read.
func (a *auditing) expected(ctx context.Context, m Measure, tp eventlog.TopicPartition, to int64) (int64, error) {
	if m.Of != nil {
		t, err := a.tally(ctx, m, tp, to)
		if err != nil || t == nil {
			return -1, err
		}
		return t.n, nil
	}
	var quarantined uint64
	err := a.conn.QueryRow(ctx, fmt.Sprintf("SELECT count() FROM quarantine WHERE topic = '%s' AND `partition` = %d AND `offset` < %d AND %s",
		tp.Topic, tp.Partition, to, inQuarantine(a.projection.Name, a.generation))).Scan(&quarantined)
	return to - a.began[tp] - int64(quarantined), err
}

// between is what records in a span may have made at most.
func (a *auditing) between(ctx context.Context, m Measure, tp eventlog.TopicPartition, s span) (n int64, err error) {
	if m.Of == nil || s.size() == 0 {
		return s.size(), nil
	}
	err = scan(ctx, a.log, tp, s, func(records []eventlog.Record) {
		for i := range records {
			n += m.Of(&records[i])
		}
	})
	return n, err
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
