package tables

// Amount is the type of money: exact, with as many fraction digits as
// schemas.DecimalScale.
const Amount = "Decimal(76, 38)"

// CostRollups sums cost events per day and dimension. Read it with
// sum(amount), sum(events) GROUP BY day or toStartOfMonth(day), currency and
// whatever else is asked for; never across currencies.
//
//   - day: the date of the event's ts, moved into the month its period names
//     when that is another one (a bill for October sent on 3 November counts on
//     31 October, one sent ahead on 30 September for October on 1 October). So
//     the month of day is always the billed month.
//   - currency: three upper-case letters.
//
// Sort key: one project over a range of days, then grouped. No partitions: a
// project makes a few rows a day.
func CostRollups() Table {
	return Table{
		Name:   "cost_rollups",
		Engine: Aggregating,
		Columns: []Column{
			{"project_id", "String", ""},
			{"day", "Date32", ""},
			{"currency", "String", ""},
			{"provider", "String", ""},
			{"service", "String", ""},
			{"region", "String", ""},
			{"amount", "SimpleAggregateFunction(sum, " + Amount + ")", ""},
			{"events", "SimpleAggregateFunction(sum, UInt64)", ""},
		},
		OrderBy: []string{"project_id", "day", "currency", "provider", "service", "region"},
	}
}
