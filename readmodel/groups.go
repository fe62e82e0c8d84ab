package readmodel

import (
	"strings"
	"time"

	"weir/readmodel/tables"
)

// unresolved is the status every group has until triage events say otherwise.
const unresolved = "unresolved"

var groupStatuses = []string{unresolved, "regressed", "resolved", "ignored"}

// GroupsFilter chooses error groups of one project.
type GroupsFilter struct {
	Project                       string
	Statuses                      []string // any of them; none: all
	Environment, Release, Service string   // the group was seen there
	Text                          string   // in name, message or culprit, in any case of letters
	Since, Until                  time.Time
}

// none says that no group can match, whatever is in the tables.
func (f GroupsFilter) none() bool {
	for _, s := range f.Statuses {
		if s == unresolved {
			return false
		}
	}
	return len(f.Statuses) > 0
}

// Orders of a list of groups.
const (
	ByLastSeen  = "last_seen"
	ByFirstSeen = "first_seen"
	ByCount     = "count"
)

var groupOrders = map[string]string{ByLastSeen: "last_at", ByFirstSeen: "first_at", ByCount: "total"}

// GroupsQuery finds the groups of one page, with the columns that lists are
// sorted by and no others: what else a group shows is read for the page only
// (GroupDetailsQuery, GroupFacetsQuery, GroupTrendQuery), which is much cheaper
// than carrying it through the sort of a project with 100,000 groups.
//
// The order is by the column and then the fingerprint. A group whose place
// changes while somebody pages (it was seen again) moves towards the front,
// so it is never given twice by last_seen or count descending.
type GroupsQuery struct {
	GroupsFilter
	Sort      string // ByLastSeen, ByFirstSeen or ByCount
	Ascending bool
	After     *groupKey
	Limit     int
}

// groupKey is the place of a group in an order, and the content of a cursor.
type groupKey struct {
	Value       int64  `json:"v"` // the sorted column: nanoseconds since 1970, or the count
	Fingerprint string `json:"f"`
}

func (q GroupsQuery) statement() Statement {
	var b builder
	b.where("project_id = " + b.text(q.Project))
	q.seenIn(&b, tables.FacetEnvironment, q.Environment)
	q.seenIn(&b, tables.FacetRelease, q.Release)
	q.seenIn(&b, tables.FacetService, q.Service)
	inner := "SELECT fingerprint, toInt64(sum(count)) AS total, toUnixTimestamp64Nano(min(first_seen)) AS first_at, " +
		"toUnixTimestamp64Nano(max(last_seen)) AS last_at" + q.textColumns() +
		" FROM error_groups WHERE " + b.conditions() + " GROUP BY fingerprint"
	b.conds = nil
	q.groupConditions(&b)
	column, direction := groupOrders[q.Sort], "DESC"
	if q.Ascending {
		direction = "ASC"
	}
	if q.After != nil {
		b.where("(" + column + ", fingerprint) " + map[string]string{"ASC": ">", "DESC": "<"}[direction] +
			" (" + b.arg("Int64", q.After.Value) + ", " + b.eventID(q.After.Fingerprint) + ")")
	}
	return b.statement(
		"SELECT lower(hex(fingerprint)) AS id, total, first_at, last_at FROM ("+inner+") WHERE", b.conditions(),
		"ORDER BY", column, direction+", fingerprint", direction, b.page(q.Limit))
}

// seenIn keeps the groups with an occurrence of that facet value.
func (q GroupsQuery) seenIn(b *builder, facet, value string) {
	if value != "" {
		b.where("fingerprint IN (SELECT fingerprint FROM error_group_facets WHERE project_id = " + b.text(q.Project) +
			" AND facet = " + b.text(facet) + " AND value = " + b.text(value) + ")")
	}
}

func (q GroupsQuery) textColumns() string {
	if q.Text == "" {
		return ""
	}
	return ", max(latest) AS newest"
}

// groupConditions are those on a whole group: active in [Since, Until), and with the text.
func (q GroupsQuery) groupConditions(b *builder) {
	if !q.Since.IsZero() {
		b.where("last_at >= " + b.arg("Int64", q.Since.UnixNano()))
	}
	if !q.Until.IsZero() {
		b.where("first_at < " + b.arg("Int64", q.Until.UnixNano()))
	}
	if q.Text != "" {
		b.where("positionCaseInsensitiveUTF8(concat(newest.name, '\\n', newest.message, '\\n', newest.culprit), " + b.text(q.Text) + ") > 0")
	}
}

// GroupDetailsQuery reads what a page shows of its groups beside the sorted columns.
type GroupDetailsQuery struct {
	Project      string
	Fingerprints []string // hex
}

func (q GroupDetailsQuery) statement() Statement {
	var b builder
	b.groups(q.Project, q.Fingerprints)
	return b.statement(
		"SELECT lower(hex(fingerprint)) AS id, newest.name, newest.message, newest.culprit, earliest_release.release, latest_release.release",
		"FROM (SELECT fingerprint, max(latest) AS newest, min(first_release) AS earliest_release, max(last_release) AS latest_release",
		"FROM error_groups WHERE", b.conditions(), "GROUP BY fingerprint)")
}

// groups adds the condition for known groups of one project.
func (b *builder) groups(project string, fingerprints []string) {
	b.where("project_id = " + b.text(project))
	holders := make([]string, len(fingerprints))
	for i, f := range fingerprints {
		holders[i] = b.eventID(f)
	}
	b.where("fingerprint IN (" + strings.Join(holders, ", ") + ")")
}

// maxFacetValues is how many values of one facet a group shows: the most frequent ones.
const maxFacetValues = 20

// GroupFacetsQuery reads the environments, releases and services of groups, the most frequent first.
type GroupFacetsQuery struct {
	Project      string
	Fingerprints []string
}

func (q GroupFacetsQuery) statement() Statement {
	var b builder
	b.groups(q.Project, q.Fingerprints)
	return b.statement(
		"SELECT lower(hex(fingerprint)) AS id, toString(facet) AS name, value, sum(count) AS total FROM error_group_facets WHERE", b.conditions(),
		"GROUP BY fingerprint, facet, value ORDER BY total DESC, value LIMIT", b.arg("UInt32", maxFacetValues), "BY id, name")
}

// trendHours is the length of a group's trend.
const trendHours = 24

// GroupTrendQuery counts the occurrences of groups by hour, from From on for
// trendHours. Only hours with occurrences have rows.
type GroupTrendQuery struct {
	Project      string
	Fingerprints []string
	From         time.Time // a full hour
}

func (q GroupTrendQuery) statement() Statement {
	var b builder
	b.groups(q.Project, q.Fingerprints)
	from := b.moment(q.From)
	b.where("hour >= " + from)
	b.where("hour < " + b.moment(q.From.Add(trendHours*time.Hour)))
	return b.statement(
		"SELECT lower(hex(fingerprint)) AS id, dateDiff('hour', "+from+", hour) AS slot, sum(count) AS total FROM error_group_hours WHERE",
		b.conditions(), "GROUP BY fingerprint, hour")
}
