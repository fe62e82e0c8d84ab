package readmodel

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/internal/httpapi"
	"weir/readmodel/tables"
)

// groupItem is an error group as the API shows it.
type groupItem struct {
	Fingerprint  string             `json:"fingerprint"`
	Name         string             `json:"name"`
	Message      string             `json:"message"`
	Culprit      string             `json:"culprit"`
	Status       string             `json:"status"`
	FirstSeen    nanos              `json:"first_seen"`
	LastSeen     nanos              `json:"last_seen"`
	Count        int64              `json:"count"`
	FirstRelease *string            `json:"first_release"`
	LastRelease  *string            `json:"last_release"`
	Environments []string           `json:"environments"`
	Services     []string           `json:"services"`
	Trend        [trendHours]uint64 `json:"trend"` // by hour, the current one last
}

func newGroup() groupItem {
	return groupItem{Status: unresolved, Environments: []string{}, Services: []string{}}
}

func (g *groupItem) sorted(by string) int64 {
	switch by {
	case ByFirstSeen:
		return int64(g.FirstSeen)
	case ByCount:
		return g.Count
	}
	return int64(g.LastSeen)
}

func (rd *Reader) listGroups(w http.ResponseWriter, r *http.Request) error {
	q, list, err := rd.groupsQuery(r)
	if err != nil {
		return err
	}
	if q.none() {
		return writePage(w, []groupItem{}, "", nil)
	}
	var groups []groupItem
	err = rd.query(r.Context(), "groups", q.statement(), func(rows driver.Rows) error {
		g := newGroup()
		err := rows.Scan(&g.Fingerprint, &g.Count, (*int64)(&g.FirstSeen), (*int64)(&g.LastSeen))
		groups = append(groups, g)
		return err
	})
	if err != nil {
		return err
	}
	next := ""
	if len(groups) > q.Limit {
		groups = groups[:q.Limit]
		last := &groups[q.Limit-1]
		next, err = httpapi.EncodeCursor(list, groupKey{last.sorted(q.Sort), last.Fingerprint})
	}
	if err == nil {
		err = rd.describe(r.Context(), q.Project, groups)
	}
	return writePage(w, groups, next, err)
}

func (rd *Reader) groupsQuery(r *http.Request) (q GroupsQuery, list string, err error) {
	p, err := parseParams(r, "project_id", "status", "environment", "release", "service", "q", "since", "until", "sort", "order", "cursor", "limit")
	if err != nil {
		return q, "", err
	}
	project, err := rd.project(r)
	if err != nil {
		return q, "", err
	}
	span := p.interval("since", "until")
	q.GroupsFilter = GroupsFilter{
		Project: project, Statuses: p.List("status", groupStatuses...),
		Environment: p.String("environment", maxFacetBytes), Release: p.String("release", maxFacetBytes),
		Service: p.String("service", maxFacetBytes), Text: p.String("q", maxTextBytes), Since: span.From, Until: span.To,
	}
	q.Sort = p.Enum("sort", ByLastSeen, ByLastSeen, ByFirstSeen, ByCount)
	q.Ascending = p.Enum("order", "desc", "desc", "asc") == "asc"
	q.Limit = p.Limit()
	list = listName("groups", []any{q.GroupsFilter, q.Sort, q.Ascending})
	var after groupKey
	if p.Cursor(list, &after) {
		if !isHex128(after.Fingerprint) {
			p.Bad("cursor", badCursor)
		}
		q.After = &after
	}
	return q, list, p.err()
}

// maxFacetBytes bounds the parameters environment, release and service: the table cuts values to as much.
const maxFacetBytes = 256

// describe fills in what the list query did not read.
func (rd *Reader) describe(ctx context.Context, project string, groups []groupItem) error {
	if len(groups) == 0 {
		return nil
	}
	at := make(map[string]*groupItem, len(groups))
	ids := make([]string, len(groups))
	for i := range groups {
		ids[i] = groups[i].Fingerprint
		at[ids[i]] = &groups[i]
	}
	err := rd.query(ctx, "group_details", GroupDetailsQuery{project, ids}.statement(), func(rows driver.Rows) error {
		return scanDetails(rows, at)
	})
	if err != nil {
		return err
	}
	err = rd.query(ctx, "group_facets", GroupFacetsQuery{project, ids}.statement(), func(rows driver.Rows) error {
		return scanFacet(rows, at)
	})
	if err != nil {
		return err
	}
	for i := range groups {
		slices.Sort(groups[i].Environments)
		slices.Sort(groups[i].Services)
	}
	from := time.Now().UTC().Truncate(time.Hour).Add(-(trendHours - 1) * time.Hour)
	return rd.query(ctx, "group_trend", GroupTrendQuery{project, ids, from}.statement(), func(rows driver.Rows) error {
		return scanTrend(rows, at)
	})
}

func scanDetails(rows driver.Rows, at map[string]*groupItem) error {
	var id, name, message, culprit, first, last string
	if err := rows.Scan(&id, &name, &message, &culprit, &first, &last); err != nil {
		return err
	}
	if g := at[id]; g != nil {
		g.Name, g.Message, g.Culprit = name, message, culprit
		g.FirstRelease, g.LastRelease = orNull(first), orNull(last)
	}
	return nil
}

func scanFacet(rows driver.Rows, at map[string]*groupItem) error {
	var id, facet, value string
	var total uint64
	if err := rows.Scan(&id, &facet, &value, &total); err != nil {
		return err
	}
	g := at[id]
	switch {
	case g == nil:
	case facet == tables.FacetEnvironment:
		g.Environments = append(g.Environments, value)
	case facet == tables.FacetService:
		g.Services = append(g.Services, value)
	}
	return nil
}

func scanTrend(rows driver.Rows, at map[string]*groupItem) error {
	var id string
	var slot int64
	var total uint64
	if err := rows.Scan(&id, &slot, &total); err != nil {
		return err
	}
	if g := at[id]; g != nil && slot >= 0 && slot < trendHours {
		g.Trend[slot] += total
	}
	return nil
}
