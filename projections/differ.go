package projections

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/readmodel/tables"
)

func projectsThatDiffer(a, b map[string]Digest) []string {
	var list []string
	for project, d := range a {
		if b[project] != d {
			list = append(list, project)
		}
	}
	for project := range b {
		if _, ok := a[project]; !ok {
			list = append(list, project)
		}
	}
	sort.Strings(list)
	return list
}

// rowsThatDiffer finds the first rows of a project that are in one filling and
// not, or not equally, in the other.
func rowsThatDiffer(ctx context.Context, conn driver.Conn, p Projection, t tables.Table, live, folded side, project string) ([]RowDifference, error) {
	var keys []string
	for _, k := range t.OrderBy {
		keys = append(keys, keyText(t, k))
	}
	one := func(s side, weight int) string {
		owner, _ := column(t, "project_id")
		where := ofProjection(t, p.Name)
		if where == "" {
			where = " WHERE 1"
		}
		return fmt.Sprintf("SELECT [%s] AS k, %s AS h, toInt64(%d) AS w FROM (%s)%s AND toString(%s) = ?", strings.Join(keys, ", "), hash(t), weight, s.rows(t), where, owner)
	}
	query := "SELECT k, sum(w) AS surplus FROM (" + one(live, 1) + " UNION ALL " + one(folded, -1) + ") GROUP BY k, h HAVING surplus != 0 ORDER BY k, surplus DESC LIMIT " + fmt.Sprint(2*rowsShown)
	rows, err := conn.Query(ctx, query, project, project)
	if err != nil {
		return nil, fmt.Errorf("looking for the rows of %s that differ: %w", t.Name, err)
	}
	defer rows.Close()
	found := []RowDifference{}
	var last string
	for rows.Next() {
		var key []string
		var surplus int64
		if err := rows.Scan(&key, &surplus); err != nil {
			return nil, fmt.Errorf("looking for the rows of %s that differ: %w", t.Name, err)
		}
		text := strings.Join(key, "\x00")
		if text == last && surplus < 0 { // the same key on both sides
			found[len(found)-1].Which = "changed"
			continue
		}
		if last = text; len(found) == rowsShown {
			break
		}
		found = append(found, rowDifference(t, key, surplus))
	}
	return found, rows.Err()
}

func rowDifference(t tables.Table, key []string, surplus int64) RowDifference {
	d := RowDifference{Key: map[string]string{}, Which: "only in the tables"}
	if surplus < 0 {
		d.Which = "only in the log"
	}
	for i, name := range t.OrderBy {
		d.Key[name] = key[i]
	}
	return d
}

// keyText is a key column as text.
func keyText(t tables.Table, name string) string {
	c, _ := column(t, name)
	for _, column := range t.Columns {
		if column.Name == name && strings.HasPrefix(column.Type, "FixedString") {
			return "lower(hex(" + c + "))"
		}
	}
	return "toString(" + c + ")"
}
