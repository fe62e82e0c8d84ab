package projections

import (
	"context"
	"fmt"
	"math/big"

	"weir/eventlog"
)

// tallies are what the log holds for measures that have to read it, so far: each
// audit reads on from where the last one ended.
type tallies map[tallyKey]*logTally

type tallyKey struct {
	projection, table string
	tp                eventlog.TopicPartition
}

// logTally counts the records from one offset up to another.
type logTally struct {
	generation  int
	from, next  int64
	quarantined int // records before next that were left out
	n           int64
	rows        moments
}

// tally reads on up to an offset. It begins anew when the generation is another
// one or what is left out has changed; nil when the log no longer has the start.
func (a *auditing) tally(ctx context.Context, m Measure, tp eventlog.TopicPartition, to int64) (*logTally, error) {
	out, err := readQuarantine(ctx, a.conn, "quarantine", fmt.Sprintf("topic = '%s' AND `partition` = %d AND `offset` < %d AND %s",
		tp.Topic, tp.Partition, to, inQuarantine(a.projection.Name, a.generation)))
	if err != nil {
		return nil, err
	}
	key := tallyKey{a.projection.Name, m.Table.Name, tp}
	t := a.tallies[key]
	if t == nil || t.generation != a.generation || t.from != a.began[tp] || t.next > to || t.quarantined != beforeOffset(out, t.next) {
		t = &logTally{generation: a.generation, from: a.began[tp], next: a.began[tp]}
	}
	if t.next < a.starts[tp] && t.next < to {
		return nil, nil
	}
	delete(a.tallies, key) // half a scan is none
	err = scan(ctx, a.log, tp, span{t.next, to}, func(records []eventlog.Record) {
		for i := range records {
			if _, left := out[place{tp, records[i].Offset}]; !left {
				t.add(m, &records[i])
			}
		}
	})
	if err != nil {
		return nil, err
	}
	t.next, t.quarantined = to, len(out)
	a.tallies[key] = t
	return t, nil
}

func beforeOffset(places map[place]struct{}, offset int64) int {
	n := 0
	for p := range places {
		if p.offset < offset {
			n++
		}
	}
	return n
}

func (t *logTally) add(m Measure, r *eventlog.Record) {
	n := m.Of(r)
	if t.n += n; n == 0 {
		return
	}
	o := big.NewInt(r.Offset)
	t.rows.rows++
	t.rows.sum.Add(&t.rows.sum, o)
	t.rows.squares.Add(&t.rows.squares, new(big.Int).Mul(o, o))
}

// compared compares rows with the records that were counted in the log.
func (m *moments) compared(want *logTally, to int64) Finding {
	var f Finding
	switch rows := int64(m.rows); {
	case rows < want.n:
		f.Missing = want.n - rows
		f.Text = fmt.Sprintf("%d of the %d records before offset %d that make a row are missing", f.Missing, want.n, to)
	case rows > want.n:
		f.Repeated = rows - want.n
		f.Text = fmt.Sprintf("there are %d rows for the %d records before offset %d that make one", rows, want.n, to)
	case m.sum.Cmp(&want.rows.sum) != 0 || m.squares.Cmp(&want.rows.squares) != 0:
		f.Missing, f.Repeated = 1, 1
		f.Text = fmt.Sprintf("the %d rows are not of the records before offset %d: some are missing and as many are there twice", rows, to)
	}
	return f
}
