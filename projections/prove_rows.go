package projections

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"weir/eventlog"
)

// quietTime is how long a proof waits for a moment in which a projection folds
// nothing before it holds the projection to have one.
const quietTime = 5 * time.Second

// place is where a record is.
type place struct {
	tp     eventlog.TopicPartition
	offset int64
}

// rowSet stands for a set of rows: how many, and, where rows have offsets, their
// sum and the sum of their squares, which wrap around.
type rowSet struct{ rows, sum, squares uint64 }

// proofLine is one table against one topic while the log is read.
type proofLine struct {
	projection  Projection
	measure     Measure
	topic       string
	timed       bool // rows of a time, not all
	spans       map[eventlog.TopicPartition]span
	at          vector
	quarantined map[place]struct{}
	lost        string // why nothing can be compared

	have     rowSet
	want     rowSet
	expected int64
	refused  int64 // of quarantined, found in the log
}

func (l *proofLine) add(tp eventlog.TopicPartition, r *eventlog.Record) {
	if _, out := l.quarantined[place{tp, r.Offset}]; out {
		l.refused++
		return
	}
	n := l.measure.of(r)
	if l.expected += n; n != 0 {
		o := uint64(r.Offset)
		l.want.sum += o
		l.want.squares += o * o
	}
}

func (l *proofLine) result() ProofLine {
	line := ProofLine{
		Projection: l.projection.Name, Topic: l.topic, Table: l.measure.Table.Name, Scope: "all", Position: l.at.positions().String(),
		Expected: l.expected, Quarantined: l.refused, Rows: int64(l.have.rows),
	}
	if l.timed {
		line.Scope = "time"
	}
	switch difference := line.Rows - line.Expected; {
	case l.lost != "":
		line.Scope, line.Difference = "none", l.lost
	case difference < 0:
		line.Difference = fmt.Sprintf("%d records are missing in the table", -difference)
	case difference > 0:
		line.Difference = fmt.Sprintf("%d more in the table than the log has", difference)
	case l.measure.placed() && (l.have.sum != l.want.sum || l.have.squares != l.want.squares):
		line.Difference = "the rows are not of these records: as many are missing as are there twice or from elsewhere"
	}
	return line
}

// readRows counts the rows of a projection and notes what is to be counted in the
// log to compare.
func (v *proving) readRows(ctx context.Context, p Projection) error {
	var sums []Measure
	for _, m := range p.Measures {
		if !m.placed() {
			sums = append(sums, m)
		}
	}
	if err := v.readPlaced(ctx, p); err != nil {
		return err
	}
	if len(sums) == 0 {
		return nil
	}
	for deadline := time.Now().Add(quietTime); time.Now().Before(deadline); {
		lines, err := v.readQuiet(ctx, p, sums)
		if err != nil && !errors.Is(err, errMoving) {
			return err
		}
		if err == nil {
			v.lines = append(v.lines, lines...)
			return nil
		}
		if pause(ctx, 20*time.Millisecond); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return v.readHeld(ctx, p, sums)
}

// errMoving means that something was folded, retried or swapped while rows were counted.
var errMoving = errors.New("the tables changed meanwhile")

// readPlaced counts rows that tell where their record is, up to the checkpoints:
// what is folded meanwhile lies behind them.
func (v *proving) readPlaced(ctx context.Context, p Projection) error {
	for {
		lines, err := v.tryPlaced(ctx, p)
		if err == nil {
			v.lines = append(v.lines, lines...)
			return nil
		}
		if !errors.Is(err, errMoving) {
			return err
		}
		if pause(ctx, quietRetry); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (v *proving) tryPlaced(ctx context.Context, p Projection) ([]*proofLine, error) {
	generation, at, err := v.folded(ctx, p)
	if err != nil {
		return nil, err
	}
	before, err := v.inQuarantine(ctx, p, generation)
	if err != nil {
		return nil, err
	}
	var lines []*proofLine
	for _, m := range p.Measures {
		if !m.placed() {
			continue
		}
		for _, topic := range p.Topics {
			l := v.placedLine(p, m, topic, at, before)
			if err := v.countPlaced(ctx, l); err != nil {
				return nil, err
			}
			lines = append(lines, l)
		}
	}
	after, err := v.inQuarantine(ctx, p, generation)
	if err != nil {
		return nil, err
	}
	now, _, err := v.folded(ctx, p)
	if err != nil {
		return nil, err
	}
	if now != generation || !sameWithin(before, after, at) {
		return nil, errMoving
	}
	return lines, nil
}

func (v *proving) placedLine(p Projection, m Measure, topic string, at vector, quarantined map[place]struct{}) *proofLine {
	l := &proofLine{projection: p, measure: m, topic: topic, quarantined: quarantined, spans: map[eventlog.TopicPartition]span{}, at: vector{}}
	l.timed = m.received() && !(v.asked.From.IsZero() && v.asked.To.IsZero())
	for tp, folded := range at {
		if tp.Topic != topic {
			continue
		}
		l.at[tp] = min(folded, v.ends[tp])
		l.spans[tp] = span{v.starts[tp], l.at[tp]}
		if l.timed {
			l.spans[tp] = span{v.scope[tp].from, min(v.scope[tp].to, l.at[tp])}
		}
	}
	return l
}

func (v *proving) countPlaced(ctx context.Context, l *proofLine) error {
	m := l.measure
	where := []string{m.project() + " = ?", m.ofTopic(l.topic), m.within(l.spans, l.topic)}
	args := []any{v.asked.Project}
	if l.timed && !v.asked.From.IsZero() {
		where, args = append(where, "received_at >= fromUnixTimestamp64Milli(?)"), append(args, v.asked.From.UnixMilli())
	}
	if l.timed && !v.asked.To.IsZero() {
		where, args = append(where, "received_at < fromUnixTimestamp64Milli(?)"), append(args, v.asked.To.UnixMilli())
	}
	query := "SELECT toUInt64(" + m.Rows + "), sum(toUInt64(`offset`)), sum(toUInt64(`offset`) * toUInt64(`offset`)) FROM `" + m.Table.Name + "` WHERE " + strings.Join(where, " AND ")
	return v.projector.cfg.ClickHouse.QueryRow(ctx, query, args...).Scan(&l.have.rows, &l.have.sum, &l.have.squares)
}

// readQuiet counts sums at a moment at which nothing is planned and nothing moves.
func (v *proving) readQuiet(ctx context.Context, p Projection, sums []Measure) ([]*proofLine, error) {
	generation, at, err := v.still(ctx, p)
	if err != nil {
		return nil, err
	}
	before, err := v.inQuarantine(ctx, p, generation)
	if err != nil {
		return nil, err
	}
	lines, err := v.sumLines(ctx, p, sums, generation, at, "", before)
	if err != nil {
		return nil, err
	}
	after, err := v.inQuarantine(ctx, p, generation)
	if err != nil {
		return nil, err
	}
	again, now, err := v.still(ctx, p)
	if err != nil {
		return nil, err
	}
	if again != generation || !maps.Equal(at, now) || !maps.Equal(before, after) {
		return nil, errMoving
	}
	return lines, nil
}

// still is folded, and errMoving while a block is on its way.
func (v *proving) still(ctx context.Context, p Projection) (int, vector, error) {
	generation, at, err := v.folded(ctx, p)
	if err != nil {
		return 0, nil, err
	}
	checkpoints, err := v.projector.cfg.Log.Checkpoints(ctx, Group(p.Name, generation), p.Topics)
	if err != nil {
		return 0, nil, err
	}
	for tp, c := range checkpoints {
		if c.Exists && (c.Planned >= 0 || c.Offset != at[tp]) {
			return 0, nil, errMoving
		}
	}
	return generation, at, nil
}

// readHeld counts sums in clones that are made while the projection is held.
func (v *proving) readHeld(ctx context.Context, p Projection, sums []Measure) error {
	held := &verifying{projector: v.projector, projection: p, suffix: "__v" + strings.ToLower(rand.Text()[:8])}
	defer held.clean(context.WithoutCancel(ctx))
	if err := held.prepare(ctx); err != nil {
		return err
	}
	clones := cloneSuffix(held.suffix)
	quarantined, err := v.quarantine(ctx, "quarantine"+clones, "1")
	if err != nil {
		return err
	}
	lines, err := v.sumLines(ctx, p, sums, held.live.Generation.Generation, held.at, clones, quarantined)
	v.lines = append(v.lines, lines...)
	return err
}

func (v *proving) sumLines(ctx context.Context, p Projection, sums []Measure, generation int, at vector, suffix string, quarantined map[place]struct{}) ([]*proofLine, error) {
	began, err := readStarts(ctx, v.projector.cfg.ClickHouse, p.Name, generation)
	if err != nil {
		return nil, err
	}
	var lines []*proofLine
	for _, m := range sums {
		l := &proofLine{projection: p, measure: m, topic: p.Topics[0], quarantined: quarantined, spans: map[eventlog.TopicPartition]span{}, at: at}
		for tp, folded := range at {
			l.spans[tp] = span{v.starts[tp], folded}
			if from, known := began[tp]; known && from < v.starts[tp] {
				l.lost = fmt.Sprintf("not comparable: retention has taken records from offset %d on that are in these sums", from)
			}
		}
		query := "SELECT toUInt64(" + m.Rows + ") FROM `" + m.Table.Physical(suffix) + "` WHERE " + m.project() + " = ?"
		if err := v.projector.cfg.ClickHouse.QueryRow(ctx, query, v.asked.Project).Scan(&l.have.rows); err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// quarantine reads where the project's records in quarantine are.
func (v *proving) quarantine(ctx context.Context, table, condition string) (map[place]struct{}, error) {
	return readQuarantine(ctx, v.projector.cfg.ClickHouse, table, condition+" AND project_id = ?", v.asked.Project)
}

// inQuarantine is that of a live generation, and errMoving while one of its
// records is being retried.
func (v *proving) inQuarantine(ctx context.Context, p Projection, generation int) (map[place]struct{}, error) {
	if busy, err := v.projector.retrying(ctx, p.Name, generation); busy || err != nil {
		return nil, cmp.Or(err, errMoving)
	}
	return v.quarantine(ctx, "quarantine", inQuarantine(p.Name, generation))
}

// sameWithin reports whether two sets have the same places before a vector.
func sameWithin(a, b map[place]struct{}, at vector) bool {
	within := func(x, y map[place]struct{}) bool {
		for p := range x {
			if _, both := y[p]; !both && p.offset < at[p.tp] {
				return false
			}
		}
		return true
	}
	return within(a, b) && within(b, a)
}
