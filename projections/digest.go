package projections

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/readmodel/tables"
)

// Digest stands for a set of rows in any order: how many there are, and the sum
// and the exclusive or of a keyed 64-bit hash over each row's columns.
type Digest struct {
	Rows uint64 `json:"rows"`
	Sum  uint64 `json:"sum"`
	Xor  uint64 `json:"xor"`
}

// Difference is one table that is not the same for one project.
type Difference struct {
	Table   string `json:"table"`
	Project string `json:"project_id"`
	Live    Digest `json:"live"`
	Folded  Digest `json:"folded"` // what the log gives
	// Rows are the first ones that differ, by sort key.
	Rows []RowDifference `json:"rows"`
}

// RowDifference is one row that differs.
type RowDifference struct {
	Key map[string]string `json:"key"` // the sort key; binary values in hex
	// Which is "changed", "only in the tables" or "only in the log".
	Which string `json:"which"`
}

// Differences are what a comparison found.
type Differences []Difference

// String names the first few, for people.
func (ds Differences) String() string {
	var b strings.Builder
	for i, d := range ds {
		if i == 3 {
			fmt.Fprintf(&b, "; and %d more", len(ds)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s of project %s: %d rows live, %d from the log", d.Table, d.Project, d.Live.Rows, d.Folded.Rows)
		if len(d.Rows) > 0 {
			fmt.Fprintf(&b, ", first %s: %v", d.Rows[0].Which, d.Rows[0].Key)
		}
	}
	return b.String()
}

const (
	projectsShown = 20 // differences that are looked into
	rowsShown     = 10 // rows of each
)

// side is one of two fillings to compare.
type side struct {
	suffix     string
	projection string
	generation int
	alone      bool // its quarantine has a table of its own
}

// rows is the query of a table's canonical rows, with columns c0, c1, … in the
// order of the definition: what readers see, whatever has been merged so far.
func (s side) rows(t tables.Table) string {
	var columns, keys []string
	for i, c := range t.Columns {
		expr := "`" + c.Name + "`"
		if aggregate := aggregateOf(c.Type); aggregate != "" {
			expr = aggregate + "(" + expr + ")"
		} else if t.Engine == tables.Aggregating {
			keys = append(keys, expr)
		}
		if t.Shared && c.Name == "generation" {
			expr = "0" // two fillings differ in it, and in nothing else
		}
		columns = append(columns, fmt.Sprintf("%s AS c%d", expr, i))
	}
	physical, where := t.Physical(s.suffix), ""
	if t.Shared && s.alone {
		physical = t.Name + s.suffix
	} else if t.Shared {
		where = " WHERE " + inQuarantine(s.projection, s.generation)
	}
	query := "SELECT " + strings.Join(columns, ", ") + " FROM `" + physical + "`" + where
	if len(keys) > 0 {
		query += " GROUP BY " + strings.Join(keys, ", ")
	}
	return query
}

var simpleAggregate = regexp.MustCompile(`^SimpleAggregateFunction\((\w+),`)

// aggregateOf is the function of an aggregate column, "" for a plain one.
func aggregateOf(columnType string) string {
	if m := simpleAggregate.FindStringSubmatch(columnType); m != nil {
		return m[1]
	}
	return ""
}

// hash is the expression of a canonical row's hash.
func hash(t tables.Table) string {
	names := make([]string, len(t.Columns))
	for i := range t.Columns {
		names[i] = fmt.Sprintf("c%d", i)
	}
	return "sipHash64(tuple(" + strings.Join(names, ", ") + "))"
}

// column is the canonical name of a column, and whether the table has it.
func column(t tables.Table, name string) (string, bool) {
	for i, c := range t.Columns {
		if c.Name == name {
			return fmt.Sprintf("c%d", i), true
		}
	}
	return "''", false
}

// ofProjection keeps only the rows of one projection where several share a table.
func ofProjection(t tables.Table, projection string) string {
	if c, ok := column(t, "projection"); ok && t.Shared {
		return " WHERE " + c + " = '" + projection + "'" // a name of ours: lower-case letters
	}
	return ""
}

// digestSettings bound what a digest takes from live folding and reading.
func digestSettings() clickhouse.Settings {
	return clickhouse.Settings{
		"max_threads": 2, "max_bytes_before_external_group_by": 512 << 20, "max_bytes_before_external_sort": 512 << 20,
		"max_execution_time": 0, "session_timezone": "UTC", "prefer_column_name_to_alias": 1, "log_queries": 0,
	}
}

// compare digests every table of two fillings per project, and names the first
// rows that differ.
func compare(ctx context.Context, conn driver.Conn, p Projection, live, folded side) (Differences, error) {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(digestSettings()))
	var found Differences
	for _, t := range append(p.Tables[:len(p.Tables):len(p.Tables)], tables.Quarantine()) {
		a, err := digests(ctx, conn, p, t, live)
		if err != nil {
			return nil, err
		}
		b, err := digests(ctx, conn, p, t, folded)
		if err != nil {
			return nil, err
		}
		for _, project := range projectsThatDiffer(a, b) {
			d := Difference{Table: t.Name, Project: project, Live: a[project], Folded: b[project], Rows: []RowDifference{}}
			if len(found) < projectsShown {
				if d.Rows, err = rowsThatDiffer(ctx, conn, p, t, live, folded, project); err != nil {
					return nil, err
				}
			}
			found = append(found, d)
		}
	}
	return found, nil
}

// digests reads a table's digests by project.
func digests(ctx context.Context, conn driver.Conn, p Projection, t tables.Table, s side) (map[string]Digest, error) {
	project, _ := column(t, "project_id")
	query := "SELECT toString(project), count(), sum(h), groupBitXor(h) FROM (SELECT " + project + " AS project, " + hash(t) + " AS h FROM (" + s.rows(t) + ")" +
		ofProjection(t, p.Name) + ") GROUP BY project"
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("digesting table %s: %w", t.Physical(s.suffix), err)
	}
	defer rows.Close()
	found := map[string]Digest{}
	for rows.Next() {
		var project string
		var d Digest
		if err := rows.Scan(&project, &d.Rows, &d.Sum, &d.Xor); err != nil {
			return nil, fmt.Errorf("digesting table %s: %w", t.Physical(s.suffix), err)
		}
		found[project] = d
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("digesting table %s: %w", t.Physical(s.suffix), err)
	}
	return found, nil
}
