package readmodel

import (
	"slices"
	"strconv"
	"strings"
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
	for _, f := range q.facets() {
		b.where(q.seenIn(&b, f))
	}
	q.conditions(&b)
	if q.Text != "" {
		b.where("position(" + searched("newest.name", "newest.message", "newest.culprit") + ", lowerUTF8(" + b.text(q.Text) + ")) > 0")
	}
	column := sortColumns[q.Sort]
	q.after(&b, column)
	return b.statement("SELECT lower(hex(fingerprint)) AS id, total, first_at, last_at, "+b.status(q.Now, "ignored_until")+
		" AS status FROM ("+flat+") WHERE", b.conditions(), q.order(column), b.page(q.Limit))
}

var sortColumns = map[string]string{ByLastSeen: "last_at", ByFirstSeen: "first_at", ByCount: "total"}

// conditions are those on whole groups that both places where groups are read
// from have columns for: active in [Since, Until), and so on.
func (q GroupsQuery) conditions(b *builder) {
	if !q.Since.IsZero() {
		b.where("last_at >= " + b.arg("Int64", q.Since.UnixNano()))
	}
	if !q.Until.IsZero() {
		b.where("first_at < " + b.arg("Int64", q.Until.UnixNano()))
	}
	if len(q.Statuses) > 0 {
		states := slices.Clone(q.Statuses)
		if slices.Contains(states, unresolved) && !slices.Contains(states, tables.TriageIgnored) {
			states = append(states, tables.TriageIgnored) // some of these are unresolved by now
		}
		b.where("state IN " + b.texts(states)) // the less exact condition is one that an index can answer
		b.where(b.status(q.Now, "ignored_until") + " IN " + b.texts(q.Statuses))
	}
}

// after is the condition that a group comes after the cursor.
func (q GroupsQuery) after(b *builder, column string) {
	if q.After == nil {
		return
	}
	sign, value := "<", b.arg("Int64", q.After.Value)
	if q.Ascending {
		sign = ">"
	}
	// The first condition says the same less exactly: it is the one that finds the place in a sort key.
	b.where(column + " " + sign + "= " + value)
	b.where("(" + column + ", fingerprint) " + sign + " (" + value + ", " + b.eventID(q.After.Fingerprint) + ")")
}

// searched is what a text is looked for in: the texts of a group, a line each, in small letters.
func searched(name, message, culprit string) string {
	return "lowerUTF8(concat(" + name + ", '\\n', " + message + ", '\\n', " + culprit + "))"
}

// status is a group's status now: an ignore with a time ends by itself.
func (b *builder) status(now time.Time, until string) string {
	return "if(state = '" + tables.TriageIgnored + "' AND " + until + " > 0 AND " + until + " <= " + b.arg("Int64", now.UnixNano()) + ", '" + unresolved + "', toString(state))"
}

func (q GroupsQuery) order(column string) string {
	direction := "DESC"
	if q.Ascending {
		direction = "ASC"
	}
	return "ORDER BY " + column + " " + direction + ", fingerprint " + direction
}

// facetValue is a filter: the group was seen with this value.
type facetValue struct{ column, facet, value string }

// facets are those that are asked for, the rarest kind first.
func (q GroupsFilter) facets() (all []facetValue) {
	for _, f := range []facetValue{
		{"releases", tables.FacetRelease, q.Release}, {"services", tables.FacetService, q.Service}, {"environments", tables.FacetEnvironment, q.Environment},
	} {
		if f.value != "" {
			all = append(all, f)
		}
	}
	return all
}

// seenIn is the condition that a group has an occurrence with that facet value.
func (q GroupsQuery) seenIn(b *builder, f facetValue) string {
	return "fingerprint IN (SELECT " + q.scope.rooted(b) + " FROM error_group_facets WHERE project_id = " + b.text(q.Project) +
		" AND facet = " + b.text(f.facet) + " AND value = " + b.text(f.value) + ")"
}

// GroupListQuery finds the groups of one page with everything a page shows, in
// error_group_list, which tables describes.
type GroupListQuery struct {
	GroupsQuery
	More bool // some group of the list has more values than stand in its row
}

func (q GroupListQuery) statement() Statement {
	var b builder
	b.where("project_id = " + b.text(q.Project))
	b.where("sorted = " + b.text(q.Sort))
	for _, f := range q.facets() {
		has := "has(" + f.column + ", " + b.text(f.value) + ")"
		if q.More {
			has = "(" + has + " OR more = 1 AND " + q.seenIn(&b, f) + ")"
		}
		b.where(has)
	}
	q.conditions(&b)
	if q.Text != "" {
		b.where("search LIKE concat('%', lowerUTF8(" + b.text(likeEscapes.Replace(q.Text)) + "), '%')") // the form that by_search knows
	}
	q.after(&b, "place")
	return b.statement("SELECT lower(hex(fingerprint)) AS id, total, first_at, last_at, "+b.status(q.Now, "ignored_until")+
		" AS status, item FROM error_group_list WHERE", b.conditions(), q.order("place"), b.page(q.Limit))
}

// likeEscapes makes a text stand for itself in a pattern of LIKE.
var likeEscapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// shown cuts a column of values to what a page shows.
func shown(column string) string {
	return "arraySlice(" + column + ", 1, " + strconv.Itoa(maxFacetValues) + ")"
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
