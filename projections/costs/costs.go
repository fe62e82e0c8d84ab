// Package costs folds cost events into exact sums per day, provider, service,
// region and currency.
package costs

import (
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"weir/eventlog"
	"weir/projections"
	"weir/readmodel/tables"
	"weir/schemas"
)

// Version of the fold. Raise it when the same log would give other rows.
const Version = 1

// Name of the projection.
const Name = "costs"

// Projection folds the topic of cost events.
func Projection() projections.Projection {
	return projections.Projection{
		Name:     Name,
		Version:  Version,
		Topics:   []string{eventlog.EventsTopic(schemas.Cost)},
		Tables:   []tables.Table{tables.CostRollups()},
		Measures: []projections.Measure{{Table: tables.CostRollups(), Rows: "sum(events)"}},
		New:      func() projections.Fold { return newFold() },
	}
}

var errNoProject = errors.New("record names no project")

// key is one row of the rollup. Its strings point into records.
type key struct {
	project                             string
	day                                 int64 // days since 1970
	currency, provider, service, region string
}

type sum struct {
	amount total
	events uint64
}

type fold struct {
	rows  map[key]int
	keys  []key
	sums  []sum
	cost  cost
	visit func(name, value []byte) bool
}

func newFold() *fold {
	f := &fold{rows: map[key]int{}}
	f.visit = f.cost.member
	return f
}

func (f *fold) Add(r *eventlog.Record) error {
	e, err := schemas.Open(r.Value)
	if err != nil {
		return fmt.Errorf("record is no event: %w", err)
	}
	if e.Type != schemas.Cost {
		return fmt.Errorf("event is of type %s, not cost", e.Type)
	}
	if len(r.Key) == 0 {
		return errNoProject
	}
	f.cost = cost{}
	if err := schemas.Members(e.Data, f.visit); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	amount, err := f.cost.check()
	if err != nil {
		return err
	}
	f.count(key{
		project: projections.Text(r.Key), day: billedDay(e.TS, f.cost.period), currency: f.cost.code,
		provider: f.cost.provider, service: f.cost.service, region: f.cost.region,
	}, amount)
	return nil
}

// count adds to the row of k. A sum that would leave 256 bits goes
// on in another row of the same key: what is refused must not depend on which
// records share a block.
func (f *fold) count(k key, amount schemas.Decimal) {
	if i, ok := f.rows[k]; ok {
		if total, fits := f.sums[i].amount.add(amount.Int256()); fits {
			f.sums[i] = sum{total, f.sums[i].events + 1}
			return
		}
	}
	f.rows[k] = len(f.keys)
	f.keys = append(f.keys, k)
	f.sums = append(f.sums, sum{amount.Int256(), 1})
}

func (f *fold) Blocks() []projections.Block {
	n := len(f.keys)
	project, currency, provider := make([]string, n), make([]string, n), make([]string, n)
	service, region := make([]string, n), make([]string, n)
	day, amount, events := make([]time.Time, n), make([]decimal.Decimal, n), make([]uint64, n)
	for i, k := range f.keys {
		project[i], currency[i], provider[i] = k.project, k.currency, k.provider
		service[i], region[i] = k.service, k.region
		day[i] = time.Unix(k.day*secondsPerDay, 0).UTC()
		amount[i] = decimal.NewFromBigInt(f.sums[i].amount.big(), -schemas.DecimalScale)
		events[i] = f.sums[i].events
	}
	return []projections.Block{{
		Table:   tables.CostRollups(),
		Columns: []any{project, day, currency, provider, service, region, amount, events},
		Rows:    n,
	}}
}

func (f *fold) Reset() {
	clear(f.rows)
	clear(f.keys)
	f.keys, f.sums = f.keys[:0], f.sums[:0]
	f.cost = cost{}
}
