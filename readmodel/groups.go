package readmodel

import (
	"time"

	"weir/readmodel/tables"
)

// unresolved is the status of a group about which nothing was decided.
const unresolved = "unresolved"

var groupStatuses = []string{unresolved, "regressed", tables.TriageResolved, tables.TriageIgnored}

// GroupsFilter chooses error groups of one project.
type GroupsFilter struct {
	Project                       string
	Statuses                      []string // any of them; none: all
	Environment, Release, Service string   // the group was seen there
	Text                          string   // in name, message or culprit, in any case of letters
	Since, Until                  time.Time
}

// Orders of a list of groups.
const (
	ByLastSeen  = "last_seen"
	ByFirstSeen = "first_seen"
	ByCount     = "count"
)

// GroupsQuery finds the groups of one page, with the columns that lists are
// sorted by and no others: what else a group shows is read for the page only
// (GroupDetailsQuery, GroupFacetsQuery, GroupTrendQuery), which is much cheaper
// than carrying it through the sort. Large projects are read by GroupListQuery.
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
	Now       time.Time // decides whether a group is ignored no more
	scope     groupScope
}

// groupKey is the place of a group in an order, and the content of a cursor.
type groupKey struct {
	Value       int64  `json:"v"` // the sorted column: nanoseconds since 1970, or the count
	Fingerprint string `json:"f"`
}

func (q GroupsQuery) statement() Statement {
	var b builder
	flat := b.flatGroups(q.scope, nil, q.Text != "")
	q.conditions(&b, groupColumns{
		last: "last_at", first: "first_at", count: "total", until: "ignored_until",
		name: "newest.name", message: "newest.message", culprit: "newest.culprit",
	})
	return b.statement("SELECT lower(hex(fingerprint)) AS id, total, first_at, last_at, "+b.status(q.Now, "ignored_until")+
		" AS status FROM ("+flat+") WHERE", b.conditions(), q.order(groupColumns{last: "last_at", first: "first_at", count: "total"}), b.page(q.Limit))
}

// groupColumns are the columns of one of the two places that a list is read
// from. Times are nanoseconds since 1970, or converted with ns.
type groupColumns struct {
	last, first, count, until string
	name, message, culprit    string
	times                     bool // last and first are times, not nanoseconds
}

func (c groupColumns) of(sort string) string {
	switch sort {
	case ByFirstSeen:
		return c.first
	case ByCount:
		return c.count
	}
	return c.last
}

// value is a placeholder that compares with the column a list is sorted by.
func (c groupColumns) value(b *builder, sort string, v int64) string {
	if c.times && sort != ByCount {
		return b.moment(time.Unix(0, v))
	}
	return b.arg("Int64", v)
}

// conditions are those on whole groups: active in [Since, Until), and so on.
func (q GroupsQuery) conditions(b *builder, c groupColumns) {
	q.seenIn(b, tables.FacetEnvironment, q.Environment)
	q.seenIn(b, tables.FacetRelease, q.Release)
	q.seenIn(b, tables.FacetService, q.Service)
	if !q.Since.IsZero() {
		b.where(c.last + " >= " + c.value(b, ByLastSeen, q.Since.UnixNano()))
	}
	if !q.Until.IsZero() {
		b.where(c.first + " < " + c.value(b, ByFirstSeen, q.Until.UnixNano()))
	}
	if len(q.Statuses) > 0 {
		b.where(b.status(q.Now, c.until) + " IN " + b.texts(q.Statuses))
	}
	if q.Text != "" {
		b.where("positionCaseInsensitiveUTF8(concat(" + c.name + ", '\\n', " + c.message + ", '\\n', " + c.culprit + "), " + b.text(q.Text) + ") > 0")
	}
	if q.After != nil {
		sign, column, value := "<", c.of(q.Sort), c.value(b, q.Sort, q.After.Value)
		if q.Ascending {
			sign = ">"
		}
		// The first condition says the same less exactly: it is the one that finds the place in a sort key.
		b.where(column + " " + sign + "= " + value)
		b.where("(" + column + ", fingerprint) " + sign + " (" + value + ", " + b.eventID(q.After.Fingerprint) + ")")
	}
}

// status is a group's status now: an ignore with a time ends by itself.
func (b *builder) status(now time.Time, until string) string {
	return "if(state = '" + tables.TriageIgnored + "' AND " + until + " > 0 AND " + until + " <= " + b.arg("Int64", now.UnixNano()) + ", '" + unresolved + "', toString(state))"
}

func (q GroupsQuery) order(c groupColumns) string {
	direction := "DESC"
	if q.Ascending {
		direction = "ASC"
	}
	return "ORDER BY " + c.of(q.Sort) + " " + direction + ", fingerprint " + direction
}

// seenIn keeps the groups with an occurrence of that facet value.
func (q GroupsQuery) seenIn(b *builder, facet, value string) {
	if value != "" {
		b.where("fingerprint IN (SELECT " + q.scope.rooted(b) + " FROM error_group_facets WHERE project_id = " + b.text(q.Project) +
			" AND facet = " + b.text(facet) + " AND value = " + b.text(value) + ")")
	}
}

// GroupListQuery finds the groups of one page with everything a page shows, in
// error_group_list, which tables describes.
type GroupListQuery struct{ GroupsQuery }

func (q GroupListQuery) statement() Statement {
	var b builder
	b.where("project_id = " + b.text(q.Project))
	c := groupColumns{
		last: "last_seen", first: "first_seen", count: "count", until: "toUnixTimestamp64Nano(ignored_until)",
		name: "name", message: "message", culprit: "culprit", times: true,
	}
	q.conditions(&b, c)
	return b.statement("SELECT lower(hex(fingerprint)) AS id, toInt64(count) AS total, toUnixTimestamp64Nano(first_seen) AS first_at,",
		"toUnixTimestamp64Nano(last_seen) AS last_at, "+b.status(q.Now, c.until)+" AS status, name, message, culprit, first_release, last_release,",
		"environments, services, hours, hits FROM error_group_list WHERE", b.conditions(), q.order(c), b.page(q.Limit))
}

// GroupDetailsQuery reads what a page shows of its groups beside the sorted columns.
type GroupDetailsQuery struct {
	scope   groupScope
	Groups  []string // hex
	Explain bool     // read the explanation too, which can be long
}

func (q GroupDetailsQuery) statement() Statement {
	var b builder
	root, explanation := q.scope.rooted(&b), "''"
	if q.Explain {
		explanation = "newest.explanation"
	}
	b.groups(q.scope, q.Groups)
	return b.statement(
		"SELECT lower(hex(shown)) AS id, newest.name, newest.message, newest.culprit, earliest_release.release, latest_release.release, "+explanation,
		"FROM (SELECT", root, "AS shown, max(latest) AS newest, min(first_release) AS earliest_release, max(last_release) AS latest_release",
		"FROM error_groups WHERE", b.conditions(), "GROUP BY shown)")
}

// groups adds the condition for known groups of one project and what is merged into them.
func (b *builder) groups(s groupScope, groups []string) {
	b.where("project_id = " + b.text(s.Project))
	b.where("fingerprint IN (" + b.prints(s.members(groups...)) + ")")
}

// maxFacetValues is how many values of one facet a group shows: the most frequent ones.
const maxFacetValues = 20

// GroupFacetsQuery reads the environments, releases and services of groups, the
// most frequent first, and how often and when each was seen.
type GroupFacetsQuery struct {
	scope  groupScope
	Groups []string
}

func (q GroupFacetsQuery) statement() Statement {
	var b builder
	root := q.scope.rooted(&b)
	b.groups(q.scope, q.Groups)
	return b.statement(
		"SELECT lower(hex(shown)) AS id, name, value, total, toUnixTimestamp64Nano(first) AS first_at, toUnixTimestamp64Nano(last) AS last_at FROM (SELECT", root,
		"AS shown, toString(facet) AS name, value, sum(count) AS total, min(first_seen) AS first, max(last_seen) AS last FROM error_group_facets WHERE", b.conditions(),
		"GROUP BY shown, facet, value) ORDER BY total DESC, value LIMIT", b.arg("UInt32", maxFacetValues), "BY id, name")
}

// trendHours is the length of a group's trend.
const trendHours = 24

// GroupTrendQuery counts the occurrences of groups by hour, from From on for
// Hours. Only hours with occurrences have rows.
type GroupTrendQuery struct {
	scope  groupScope
	Groups []string
	From   time.Time // a full hour
	Hours  int
}

func (q GroupTrendQuery) statement() Statement {
	var b builder
	root := q.scope.rooted(&b)
	b.groups(q.scope, q.Groups)
	from := b.moment(q.From)
	b.where("hour >= " + from)
	b.where("hour < " + b.moment(q.From.Add(time.Duration(q.Hours)*time.Hour)))
	return b.statement(
		"SELECT lower(hex("+root+")) AS id, dateDiff('hour', "+from+", hour) AS slot, sum(count) AS total FROM error_group_hours WHERE",
		b.conditions(), "GROUP BY id, slot ORDER BY slot")
}
