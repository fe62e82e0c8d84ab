package readmodel

import (
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Statement is SQL with its arguments, ready to run: constants of this
// package with placeholders {p0:Type}, and one Arg for each.
type Statement struct {
	SQL  string
	Args []Arg
}

// Arg is the value of one placeholder.
type Arg struct {
	Name  string
	Value any
}

// named are the arguments as the driver takes them.
func (s Statement) named() []any {
	args := make([]any, len(s.Args))
	for i, a := range s.Args {
		args[i] = clickhouse.Named(a.Name, a.Value)
	}
	return args
}

// builder collects arguments and conditions while a query turns into SQL.
type builder struct {
	args  []Arg
	early []string // conditions to be tried before the columns of the others are read
	conds []string
}

// arg keeps a value and returns the placeholder that stands for it.
func (b *builder) arg(typ string, v any) string {
	name := fmt.Sprintf("p%d", len(b.args))
	b.args = append(b.args, Arg{name, v})
	return "{" + name + ":" + typ + "}"
}

func (b *builder) text(v string) string { return b.arg("String", v) }

// texts is an array of placeholders.
func (b *builder) texts(values []string) string {
	holders := make([]string, len(values))
	for i, v := range values {
		holders[i] = b.text(v)
	}
	return "[" + strings.Join(holders, ", ") + "]"
}

// moment is a placeholder for a time, exact to the nanosecond. It goes as a
// number, because a parameter's text form of a time depends on time zones.
func (b *builder) moment(t time.Time) string {
	return "fromUnixTimestamp64Nano(" + b.arg("Int64", t.UnixNano()) + ", 'UTC')"
}

// where adds one condition; all conditions must hold.
func (b *builder) where(cond string) { b.conds = append(b.conds, cond) }

// equal adds column = value, unless the value is empty.
func (b *builder) equal(column, value string) {
	if value != "" {
		b.where(column + " = " + b.text(value))
	}
}

// within adds from <= column < to; a zero time bounds nothing.
func (b *builder) within(column string, from, to time.Time) {
	if !from.IsZero() {
		b.where(column + " >= " + b.moment(from))
	}
	if !to.IsZero() {
		b.where(column + " < " + b.moment(to))
	}
}

// conditions is all that must hold; every query has at least one condition.
func (b *builder) conditions() string {
	all := append(b.early[:len(b.early):len(b.early)], b.conds...)
	if len(all) == 0 {
		return "1"
	}
	return strings.Join(all, " AND ")
}

// filter is the WHERE clause, and the PREWHERE clause where a condition is to be tried first.
func (b *builder) filter() string {
	if len(b.early) == 0 || len(b.conds) == 0 {
		return "WHERE " + b.conditions()
	}
	return "PREWHERE " + strings.Join(b.early, " AND ") + " WHERE " + strings.Join(b.conds, " AND ")
}

func (b *builder) statement(parts ...string) Statement {
	return Statement{SQL: strings.Join(parts, " "), Args: b.args}
}

// page is what a query reads beyond the page's size: one row more, to know whether there is a next page.
func (b *builder) page(limit int) string { return "LIMIT " + b.arg("UInt32", limit+1) }

// pageBytes is how much text one page holds before it ends early: an event can
// have 5 MB, and a page 200 of them.
const pageBytes = 8 << 20

// bounded wraps the rows of inner, which has at most one page and one row of
// them, so that only those come out that begin before pageBytes of size; the
// column matched says how many there were. columns and order name columns of inner.
func (b *builder) bounded(columns, size, inner, order string) string {
	return "SELECT " + columns + ", matched FROM (SELECT *, count() OVER () AS matched, " +
		"sum(" + size + ") OVER (ORDER BY " + order + " ROWS UNBOUNDED PRECEDING) - (" + size + ") AS earlier FROM (" + inner + ")) " +
		"WHERE earlier < " + b.arg("UInt64", pageBytes) + " ORDER BY " + order
}
