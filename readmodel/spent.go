package readmodel

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/eventlog"
)

// SpentQuery sums the costs of one calendar month (UTC), in one currency, and says
// whether they are over an amount.
type SpentQuery struct {
	Project                   string
	Month                     time.Time // its first day
	Currency                  string
	Provider, Service, Region *string // nil: any
	Over                      string  // exact decimal
}

func (q SpentQuery) statement() Statement {
	var b builder
	b.where("project_id = " + b.text(q.Project))
	b.where("day >= toDate32(" + b.text(q.Month.Format(time.DateOnly)) + ")")
	b.where("day < toDate32(" + b.text(q.Month.AddDate(0, 1, 0).Format(time.DateOnly)) + ")")
	b.where("currency = " + b.text(q.Currency))
	for i, value := range []*string{q.Provider, q.Service, q.Region} {
		if value != nil {
			b.where(dimensions[i] + " = " + b.text(*value))
		}
	}
	return b.statement("SELECT toString(sum(amount)), sum(amount) > toDecimal256("+b.text(q.Over)+", 38) FROM cost_rollups WHERE", b.conditions())
}

// Spent reads the sum as an exact decimal, after waiting until the positions are
// folded. Errors are answers already; all are worth a retry.
func (rd *Reader) Spent(ctx context.Context, q SpentQuery, folded eventlog.Positions) (sum string, over bool, err error) {
	if err := rd.awaitFolded(ctx, Costs, folded); err != nil {
		return "", false, err
	}
	err = rd.query(ctx, "spent", q.statement(), func(rows driver.Rows) error {
		var is uint8
		err := rows.Scan(&sum, &is)
		sum, over = money(sum), is != 0
		return err
	})
	return sum, over, err
}
