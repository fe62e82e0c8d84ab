package readmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

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

	facets      []facet
	explanation string
}

// facet is one release, environment or service that a group was seen in.
type facet struct {
	kind      string
	Value     string `json:"value"`
	Count     uint64 `json:"count"`
	FirstSeen nanos  `json:"first_seen"`
	LastSeen  nanos  `json:"last_seen"`
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

// listGroups answers from the list of a large project, which is behind the log
// by some seconds while events are folding. Who sends back a log position reads
// the groups themselves, which hold it.
func (rd *Reader) listGroups(w http.ResponseWriter, r *http.Request) error {
	q, list, err := rd.groupsQuery(r)
	if err != nil {
		return err
	}
	var groups []groupItem
	kept := keptList{}
	if r.Header.Get(HeaderLogPosition) == "" {
		kept = rd.listed.find(r.Context(), rd, q.Project)
	}
	if kept.there {
		groups, err = rd.readList(r.Context(), GroupListQuery{q, kept.more})
	} else {
		groups, err = rd.readGroups(r.Context(), &q)
	}
	if err != nil {
		return err
	}
	next := ""
	if len(groups) > q.Limit {
		groups = groups[:q.Limit]
		last := &groups[q.Limit-1]
		next, err = httpapi.EncodeCursor(list, groupKey{last.sorted(q.Sort), last.Fingerprint})
	}
	if err == nil && !kept.there {
		err = rd.describe(r.Context(), q.scope, groups, false)
	}
	return writePage(w, groups, next, err)
}

// readGroups is the page without what describe adds.
func (rd *Reader) readGroups(ctx context.Context, q *GroupsQuery) (groups []groupItem, err error) {
	if q.scope, err = rd.scope(ctx, q.Project); err != nil {
		return nil, err
	}
	return groups, rd.query(ctx, "groups", q.statement(), func(rows driver.Rows) error {
		g := newGroup()
		err := rows.Scan(&g.Fingerprint, &g.Count, (*int64)(&g.FirstSeen), (*int64)(&g.LastSeen), &g.Status)
		groups = append(groups, g)
		return err
	})
}

// readList is the page, whole.
func (rd *Reader) readList(ctx context.Context, q GroupListQuery) (groups []groupItem, err error) {
	if q.More && len(q.facets()) > 0 { // only these look into a table where merged groups are apart
		if q.scope, err = rd.scope(ctx, q.Project); err != nil {
			return nil, err
		}
	}
	from := trendStart().Unix() / secondsPerHour
	return groups, rd.quick(ctx, "group_list", q.statement(), func(rows driver.Rows) error {
		g := newGroup()
		var text string
		if err := rows.Scan(&g.Fingerprint, &g.Count, (*int64)(&g.FirstSeen), (*int64)(&g.LastSeen), &g.Status, &text); err != nil {
			return err
		}
		err := g.fill(text, from)
		groups = append(groups, g)
		return err
	})
}

// listedItem is the column item of error_group_list.
type listedItem struct {
	Name         string   `json:"name"`
	Message      string   `json:"message"`
	Culprit      string   `json:"culprit"`
	FirstRelease string   `json:"first_release"`
	LastRelease  string   `json:"last_release"`
	Environments []string `json:"environments"`
	Services     []string `json:"services"`
	Hours        []uint32 `json:"hours"` // since 1970
	Hits         []uint64 `json:"hits"`  // in each of them
}

// fill takes what a page shows beside the sorted columns; from is the first hour of a trend, since 1970.
func (g *groupItem) fill(text string, from int64) error {
	var item listedItem
	if err := json.Unmarshal([]byte(text), &item); err != nil {
		return fmt.Errorf("the list's row of group %s: %w", g.Fingerprint, err)
	}
	g.Name, g.Message, g.Culprit = item.Name, item.Message, item.Culprit
	g.FirstRelease, g.LastRelease = orNull(item.FirstRelease), orNull(item.LastRelease)
	g.Environments, g.Services = item.Environments, item.Services
	for i, hour := range item.Hours {
		if slot := int64(hour) - from; slot >= 0 && slot < trendHours {
			g.Trend[slot] += item.Hits[i]
		}
	}
	slices.Sort(g.Environments)
	slices.Sort(g.Services)
	return nil
}

const secondsPerHour = 60 * 60

// trendStart is the first hour of a trend that ends with the current one.
func trendStart() time.Time {
	return time.Now().UTC().Truncate(time.Hour).Add(-(trendHours - 1) * time.Hour)
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
	q.scope.Project, q.Now = project, time.Now()
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

// describe fills in what the list query did not read, with three questions at once.
func (rd *Reader) describe(ctx context.Context, scope groupScope, groups []groupItem, explain bool) error {
	if len(groups) == 0 {
		return nil
	}
	at := make(map[string]*groupItem, len(groups))
	ids := make([]string, len(groups))
	for i := range groups {
		ids[i] = groups[i].Fingerprint
		at[ids[i]] = &groups[i]
	}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error {
		return rd.query(ctx, "group_details", GroupDetailsQuery{scope, ids, explain}.statement(), func(rows driver.Rows) error { return scanDetails(rows, at) })
	})
	work.Go(func() error {
		return rd.query(ctx, "group_facets", GroupFacetsQuery{scope, ids}.statement(), func(rows driver.Rows) error { return scanFacet(rows, at) })
	})
	work.Go(func() error {
		trend := GroupTrendQuery{scope, ids, trendStart(), trendHours}
		return rd.query(ctx, "group_trend", trend.statement(), func(rows driver.Rows) error { return scanTrend(rows, at) })
	})
	err := work.Wait()
	for i := range groups {
		slices.Sort(groups[i].Environments)
		slices.Sort(groups[i].Services)
	}
	return err
}

func scanDetails(rows driver.Rows, at map[string]*groupItem) error {
	var id, name, message, culprit, first, last, explanation string
	if err := rows.Scan(&id, &name, &message, &culprit, &first, &last, &explanation); err != nil {
		return err
	}
	if g := at[id]; g != nil {
		g.Name, g.Message, g.Culprit, g.explanation = name, message, culprit, explanation
		g.FirstRelease, g.LastRelease = orNull(first), orNull(last)
	}
	return nil
}

func scanFacet(rows driver.Rows, at map[string]*groupItem) error {
	var id string
	var f facet
	if err := rows.Scan(&id, &f.kind, &f.Value, &f.Count, (*int64)(&f.FirstSeen), (*int64)(&f.LastSeen)); err != nil {
		return err
	}
	g := at[id]
	if g == nil {
		return nil
	}
	g.facets = append(g.facets, f)
	switch f.kind {
	case tables.FacetEnvironment:
		g.Environments = append(g.Environments, f.Value)
	case tables.FacetService:
		g.Services = append(g.Services, f.Value)
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
