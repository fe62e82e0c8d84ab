package tables

import (
	"fmt"
	"strings"
)

// Generation identifies one filling of a projection's tables. It is kept as
// JSON in each physical table's COMMENT, so that EXCHANGE TABLES moves it
// together with the rows.
type Generation struct {
	Projection string `json:"projection"`
	Version    int    `json:"version"`
	Generation int    `json:"generation"`
}

// Comment is the text kept in the COMMENT of a table that serves.
func (g Generation) Comment() string { return Mark{Generation: g}.Text() }

// Fence is the value of the setting log_comment that a fenced table asks of an
// insert.
func (g Generation) Fence() string { return fmt.Sprintf("%s:%d", g.Projection, g.Generation) }

// ParseComment reads the generation in a table's COMMENT. It fails when the
// table was not made by a projector.
func ParseComment(comment string) (Generation, error) {
	m, err := ParseMark(comment)
	return m.Generation, err
}

// Create renders CREATE TABLE IF NOT EXISTS for a physical name. Two
// projectors may run it at once: one wins, and both then read the comment of
// the table that is there.
func (t Table) Create(physical string, g Generation, o Options) string {
	return t.CreateMarked(physical, Mark{Generation: g}, o)
}

// CreateMarked is Create with a whole mark.
func (t Table) CreateMarked(physical string, m Mark, o Options) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s\n(\n", quote(physical))
	elements := t.elements()
	if o.Fence && !t.Shared {
		elements = append(elements, "    CONSTRAINT generation CHECK getSetting('log_comment') = "+literal(m.Fence()))
	}
	b.WriteString(strings.Join(elements, ",\n"))
	fmt.Fprintf(&b, "\n)\nENGINE = %s\n", t.Engine)
	if t.PartitionBy != "" {
		fmt.Fprintf(&b, "PARTITION BY %s\n", t.PartitionBy)
	}
	fmt.Fprintf(&b, "ORDER BY (%s)\n", quoteAll(t.OrderBy))
	fmt.Fprintf(&b, "SETTINGS %s\n", strings.Join(t.settings(o), ", "))
	fmt.Fprintf(&b, "COMMENT %s", literal(m.Text()))
	return b.String()
}

func (t Table) elements() []string {
	var lines []string
	for _, c := range t.Columns {
		line := "    " + quote(c.Name) + " " + c.Type
		if c.Codec != "" {
			line += " CODEC(" + c.Codec + ")"
		}
		lines = append(lines, line)
	}
	for _, i := range t.Indexes {
		lines = append(lines, fmt.Sprintf("    INDEX %s %s TYPE %s GRANULARITY %d", quote(i.Name), i.Expr, i.Type, i.Granularity))
	}
	for _, r := range t.Rollups {
		lines = append(lines, fmt.Sprintf("    PROJECTION %s (%s)", quote(r.Name), r.Select))
	}
	return lines
}

func (t Table) settings(o Options) []string {
	window := o.DeduplicationWindow
	if window == 0 {
		window = DefaultDeduplicationWindow
	}
	fsync := 0
	if o.Fsync {
		fsync = 1
	}
	return append([]string{
		fmt.Sprintf("non_replicated_deduplication_window = %d", window),
		fmt.Sprintf("fsync_after_insert = %d", fsync),
		fmt.Sprintf("fsync_part_directory = %d", fsync),
	}, t.Settings...)
}

func quote(name string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
}

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return strings.Join(quoted, ", ")
}

func literal(text string) string {
	return "'" + strings.NewReplacer("\\", "\\\\", "'", "\\'").Replace(text) + "'"
}
