package readmodel

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/internal/httpapi"
)

// dimensions are what costs can be grouped by, in the order of the table's sort key.
var dimensions = []string{"provider", "service", "region"}

// CostsQuery reads one page of cost sums per period, currency and the chosen
// dimensions: the newest period first, then by the dimensions and the currency.
// Sums are of decimals and leave ClickHouse as text, so no digit is lost.
type CostsQuery struct {
	Project  string
	From, To time.Time // days, From inside, To outside; zero: open
	Monthly  bool      // else daily
	GroupBy  []string  // a subset of dimensions, in their order
	After    []string  // period, chosen dimensions and currency of the last row; nil: the first page
	Limit    int
}

func (q CostsQuery) statement() Statement {
	var b builder
	b.where("project_id = " + b.text(q.Project))
	if !q.From.IsZero() {
		b.where("day >= toDate32(" + b.text(q.From.Format(time.DateOnly)) + ")")
	}
	if !q.To.IsZero() {
		b.where("day < toDate32(" + b.text(q.To.Format(time.DateOnly)) + ")")
	}
	period := "toString(day)"
	if q.Monthly {
		period = "substring(toString(day), 1, 7)"
	}
	group := append(slices.Clone(q.GroupBy), "currency")
	columns := strings.Join(group, ", ")
	inner := "SELECT " + period + " AS period, " + columns + ", toString(sum(amount)) AS total, sum(events) AS number FROM cost_rollups WHERE " +
		b.conditions() + " GROUP BY period, " + columns
	b.conds = nil
	if q.After != nil {
		b.where(q.afterKey(&b, columns))
	}
	return b.statement("SELECT [period, "+columns+"] AS key, total, number FROM ("+inner+") WHERE", b.conditions(),
		"ORDER BY period DESC,", columns, b.page(q.Limit))
}

func (q CostsQuery) afterKey(b *builder, columns string) string {
	period := b.text(q.After[0])
	rest := make([]string, len(q.After)-1)
	for i, v := range q.After[1:] {
		rest[i] = b.text(v)
	}
	return "(period < " + period + " OR (period = " + period + " AND tuple(" + columns + ") > tuple(" + strings.Join(rest, ", ") + ")))"
}

// costItem is one sum. Dimensions that were not grouped by are left out.
type costItem struct {
	Period   string  `json:"period"`
	Provider *string `json:"provider,omitempty"`
	Service  *string `json:"service,omitempty"`
	Region   *string `json:"region,omitempty"`
	Currency string  `json:"currency"`
	Amount   string  `json:"amount"`
	Events   uint64  `json:"events"`
}

func (q CostsQuery) item(key []string, amount string, events uint64) costItem {
	c := costItem{Period: key[0], Currency: key[len(key)-1], Amount: money(amount), Events: events}
	for i, dimension := range q.GroupBy {
		value := &key[i+1]
		switch dimension {
		case "provider":
			c.Provider = value
		case "service":
			c.Service = value
		case "region":
			c.Region = value
		}
	}
	return c
}

// money writes an exact decimal with two fraction digits at least and no
// needless zeros after them.
func money(s string) string {
	whole, fraction, _ := strings.Cut(s, ".")
	fraction = strings.TrimRight(fraction, "0")
	for len(fraction) < 2 {
		fraction += "0"
	}
	return whole + "." + fraction
}

func (rd *Reader) costs(w http.ResponseWriter, r *http.Request) error {
	q, list, err := rd.costsQuery(r)
	if err != nil {
		return err
	}
	var items []costItem
	var keys [][]string
	err = rd.query(r.Context(), "costs", q.statement(), func(rows driver.Rows) error {
		var key []string
		var amount string
		var events uint64
		if err := rows.Scan(&key, &amount, &events); err != nil {
			return err
		}
		keys, items = append(keys, key), append(items, q.item(key, amount, events))
		return nil
	})
	next := ""
	if err == nil && len(items) > q.Limit {
		items = items[:q.Limit]
		next, err = httpapi.EncodeCursor(list, keys[q.Limit-1])
	}
	return writePage(w, items, next, err)
}

func (rd *Reader) costsQuery(r *http.Request) (q CostsQuery, list string, err error) {
	p, err := parseParams(r, "project_id", "from", "to", "interval", "group_by", "cursor", "limit")
	if err != nil {
		return q, "", err
	}
	if q.Project, err = rd.project(r); err != nil {
		return q, "", err
	}
	q.From, q.To = p.day("from", false), p.day("to", true)
	if !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To) {
		p.Bad("to", "must be later than from")
	}
	q.Monthly = p.Enum("interval", "month", "day", "month") == "month"
	q.GroupBy = p.dimensions("group_by")
	q.Limit = p.Limit()
	list = listName("costs", []any{q.Project, q.From, q.To, q.Monthly, q.GroupBy})
	if p.Cursor(list, &q.After) && len(q.After) != len(q.GroupBy)+2 {
		p.Bad("cursor", badCursor)
	}
	return q, list, p.err()
}

// dimensions reads a comma-separated subset; all when absent, none when given empty.
func (p *params) dimensions(name string) []string {
	if !p.values.Has(name) {
		return dimensions
	}
	given := p.List(name, dimensions...)
	chosen := []string{}
	for _, d := range dimensions {
		if slices.Contains(given, d) {
			chosen = append(chosen, d)
		}
	}
	return chosen
}

// day reads a day: 2026-11-21, a month (2026-11: its first day) or an RFC 3339
// time (its day; as an end, a day that has begun counts as a whole one).
func (p *params) day(name string, end bool) time.Time {
	s := p.String(name, 64)
	if s == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.DateOnly, "2006-01"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1970 && t.Year() <= 2200 {
			return t
		}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Year() < 1970 || t.Year() > 2200 {
		p.Bad(name, "must be a day (2026-11-21), a month (2026-11) or an RFC 3339 time, years 1970 to 2200")
		return time.Time{}
	}
	whole := t.UTC().Truncate(day)
	if end && whole.Before(t) {
		whole = whole.Add(day)
	}
	return whole
}
