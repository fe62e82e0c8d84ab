package readmodel

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"weir/eventlog"
	"weir/internal/httpapi"
	"weir/readmodel/tables"
)

// groupDetail is the answer of GET /api/errors/groups/{fingerprint}.
type groupDetail struct {
	groupItem
	ProjectID   string                   `json:"project_id"`
	Merged      []string                 `json:"merged"`    // what is shown as part of this group
	Decisions   []decision               `json:"decisions"` // newest first
	Histogram   []hourCount              `json:"histogram"` // hours with occurrences, of the last week
	Breakdown   breakdown                `json:"breakdown"`
	Occurrences httpapi.Page[occurrence] `json:"occurrences"`
	Explanation json.RawMessage          `json:"explanation"`

	scope groupScope
	asked string // the name that the asked fingerprint has now, before merges
	shown string // the group that is shown in; Fingerprint is the same once it is known that there is one
}

// hourCount is one bar of a group's histogram.
type hourCount struct {
	From  time.Time `json:"from"`
	Count uint64    `json:"count"`
}

// breakdown is where a group was seen, the most frequent first.
type breakdown struct {
	Releases     []facet `json:"releases"`
	Environments []facet `json:"environments"`
	Services     []facet `json:"services"`
}

func newBreakdown(all []facet) breakdown {
	b := breakdown{Releases: []facet{}, Environments: []facet{}, Services: []facet{}}
	for _, f := range all {
		switch f.kind {
		case tables.FacetRelease:
			b.Releases = append(b.Releases, f)
		case tables.FacetEnvironment:
			b.Environments = append(b.Environments, f)
		case tables.FacetService:
			b.Services = append(b.Services, f)
		}
	}
	return b
}

// histogramHours is how far back a group's histogram goes.
const histogramHours = 7 * 24

func (rd *Reader) group(w http.ResponseWriter, r *http.Request) error {
	p, err := parseParams(r, "project_id", "cursor", "limit")
	if err != nil {
		return err
	}
	project, err := rd.walls(r)
	if err != nil {
		return err
	}
	asked := pathValue(r, "fingerprint")
	q := OccurrencesQuery{Limit: p.Limit()}
	list := listName("occurrences", asked)
	q.After = p.eventCursor(list)
	if err := p.err(); err != nil {
		return err
	}
	detail, page, err := rd.readGroupPage(r.Context(), project, asked, q)
	if err != nil {
		return err
	}
	if detail.Occurrences, err = page.finish(list, q.Limit); err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusOK, detail)
	return nil
}

// readGroupPage reads everything that a group's page shows.
func (rd *Reader) readGroupPage(ctx context.Context, project, asked string, q OccurrencesQuery) (groupDetail, occurrencePage, error) {
	var page occurrencePage
	d, err := rd.readGuessed(ctx, project, asked, func(ctx context.Context, d *groupDetail) error {
		page = occurrencePage{}
		q.Project, q.Fingerprints = d.ProjectID, d.scope.members(d.shown)
		work, ctx := errgroup.WithContext(ctx)
		work.Go(func() error { return rd.quick(ctx, "occurrences", q.statement(), page.scan) })
		work.Go(func() error { return rd.state(ctx, d) })
		work.Go(func() error { return rd.facets(ctx, d) })
		work.Go(func() error { return rd.history(ctx, d) })
		return work.Wait()
	})
	return d, page, err
}

// readGroup reads the state of the group that a fingerprint is shown in.
func (rd *Reader) readGroup(ctx context.Context, project, fingerprint string) (groupDetail, error) {
	return rd.readGuessed(ctx, project, fingerprint, rd.state)
}

// readGuessed finds out which group of which project a fingerprint is shown in:
// its own, the one it was merged into, or the one that an older name stands for.
// It asks all questions at once, as if the fingerprint were a group's own and
// nothing new had been decided in the project, which is nearly always so, and
// reads again when it turns out to be otherwise.
func (rd *Reader) readGuessed(ctx context.Context, project, fingerprint string, read func(context.Context, *groupDetail) error) (groupDetail, error) {
	if !isHex128(fingerprint) {
		return groupDetail{}, httpapi.NotFound("error group")
	}
	name, found := fingerprint, false
	for {
		if project == "" { // of the admin, who need not name it
			var err error
			if project, name, err = rd.owner(ctx, project, fingerprint); err != nil {
				return groupDetail{}, err
			}
			found = true
		}
		d, holds, err := rd.readOnce(ctx, rd.scopes.guess(project), name, read)
		switch {
		case err != nil:
			return d, err
		case !holds:
			continue
		case d.Fingerprint != "":
			return d, nil
		case found:
			return d, httpapi.NotFound("error group")
		}
		if project, name, err = rd.owner(ctx, project, fingerprint); err != nil {
			return d, err
		}
		found = true
	}
}

// readOnce reads a group by a guess at its project's decisions; false when the guess was wrong.
func (rd *Reader) readOnce(ctx context.Context, guess groupScope, name string, read func(context.Context, *groupDetail) error) (groupDetail, bool, error) {
	d := groupDetail{groupItem: newGroup(), ProjectID: guess.Project, scope: guess, asked: name, shown: guess.root(name)}
	var scope groupScope
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() (err error) {
		scope, err = rd.scope(ctx, guess.Project)
		return err
	})
	work.Go(func() error { return read(ctx, &d) })
	if err := work.Wait(); err != nil {
		return d, false, err
	}
	if scope.equal(guess) {
		return d, true, nil
	}
	rd.scopes.remember(scope)
	return d, false, nil
}

// owner finds the project of a group, and the name it has now.
func (rd *Reader) owner(ctx context.Context, project, fingerprint string) (owner, name string, err error) {
	err = rd.quick(ctx, "group", GroupQuery{project, fingerprint}.statement(), func(rows driver.Rows) error {
		return rows.Scan(&owner, &name)
	})
	if err == nil && owner == "" {
		err = httpapi.NotFound("error group")
	}
	return owner, name, err
}

// state fills in what one row of a list shows, and why; nothing when there is no such group.
func (rd *Reader) state(ctx context.Context, d *groupDetail) error {
	q := GroupStateQuery{d.scope, d.shown, time.Now()}
	return rd.quick(ctx, "group_state", q.statement(), func(rows driver.Rows) error {
		var first, last, explanation string
		err := rows.Scan(&d.Fingerprint, &d.Count, (*int64)(&d.FirstSeen), (*int64)(&d.LastSeen), &d.Status,
			&d.Name, &d.Message, &d.Culprit, &first, &last, &explanation)
		d.FirstRelease, d.LastRelease, d.Explanation = orNull(first), orNull(last), rawJSON(explanation)
		return err
	})
}

// facets fills in where the group was seen, and what is merged into it.
func (rd *Reader) facets(ctx context.Context, d *groupDetail) error {
	var g groupItem
	at := map[string]*groupItem{d.shown: &g}
	q := GroupFacetsQuery{d.scope, []string{d.shown}}
	err := rd.quick(ctx, "group_facets", q.statement(), func(rows driver.Rows) error { return scanFacet(rows, at) })
	slices.Sort(g.Environments)
	slices.Sort(g.Services)
	d.Environments, d.Services = append([]string{}, g.Environments...), append([]string{}, g.Services...)
	d.Breakdown = newBreakdown(g.facets)
	d.Merged = append([]string{}, d.scope.members(d.shown)[1:]...)
	return err
}

// history fills in when the group was seen and what was decided about it. What
// runs beside it, state and facets, touches other members.
func (rd *Reader) history(ctx context.Context, d *groupDetail) error {
	histogram, decisions := []hourCount{}, []decision{}
	defer func() { d.Histogram, d.Decisions = histogram, decisions }()
	from := time.Now().UTC().Truncate(time.Hour).Add(-(histogramHours - 1) * time.Hour)
	hours := GroupTrendQuery{d.scope, []string{d.shown}, from, histogramHours}
	err := rd.quick(ctx, "group_histogram", hours.statement(), func(rows driver.Rows) error {
		var id string
		var slot int64
		var h hourCount
		err := rows.Scan(&id, &slot, &h.Count)
		h.From = from.Add(time.Duration(slot) * time.Hour)
		if i := slot - (histogramHours - trendHours); i >= 0 && i < trendHours {
			d.Trend[i] += h.Count
		}
		histogram = append(histogram, h)
		return err
	})
	if err != nil || !d.scope.Decided && len(d.scope.Roots) == 0 {
		return err
	}
	return rd.quick(ctx, "group_decisions", DecisionsQuery{d.ProjectID, d.scope.members(d.shown)}.statement(), func(rows driver.Rows) error {
		one, err := scanDecision(rows)
		decisions = append(decisions, one)
		return err
	})
}

// decision is one act of triage as the API shows it.
type decision struct {
	Fingerprint string  `json:"fingerprint"`
	Kind        string  `json:"kind"`
	At          nanos   `json:"at"`
	By          string  `json:"by"`
	Reason      *string `json:"reason"`
	Release     *string `json:"resolved_in_release"`
	Until       *nanos  `json:"ignored_until"`
	UntilCount  *uint64 `json:"ignored_until_count"` // of all occurrences
	Into        *string `json:"merged_into"`
}

// mostDecisions is how many decisions a group shows: the latest.
const mostDecisions = 50

// DecisionsQuery reads the latest decisions about a group, under all its names.
type DecisionsQuery struct {
	Project      string
	Fingerprints []string
}

func (q DecisionsQuery) statement() Statement {
	var b builder
	project := b.text(q.Project)
	prints := b.prints(q.Fingerprints)
	return b.statement("SELECT lower(hex(fingerprint)) AS id, toString(kind), toUnixTimestamp64Nano(decided_at) AS at, decided_by, reason, release,",
		"toUnixTimestamp64Nano(until) AS ends, until_count, lower(hex(merged_into)) AS into_id FROM error_triage WHERE project_id =", project,
		"AND (fingerprint IN ("+prints+") OR fingerprint IN (SELECT alias FROM error_aliases WHERE project_id =", project, "AND fingerprint IN ("+prints+")))",
		"ORDER BY offset DESC LIMIT", b.arg("UInt32", mostDecisions))
}

func scanDecision(rows driver.Rows) (decision, error) {
	var d decision
	var reason, release, into string
	var until int64
	var count uint64
	err := rows.Scan(&d.Fingerprint, &d.Kind, (*int64)(&d.At), &d.By, &reason, &release, &until, &count, &into)
	d.Reason, d.Release = orNull(reason), orNull(release)
	if until > 0 {
		d.Until = (*nanos)(&until)
	}
	if count > 0 {
		d.UntilCount = &count
	}
	if d.Kind == tables.TriageMerged {
		d.Into = &into
	}
	return d, err
}

// FoundGroup is what decisions and notices need of a group: its project, the
// fingerprint it is shown under, the one that was asked for by the name it has now,
// its status and its occurrences in all.
type FoundGroup struct {
	ProjectID, Fingerprint, Asked, Status string
	Count                                 int64
}

// FindGroup looks a group up for a decision about it, after waiting until the
// positions are folded. Errors are answers already: not_found, also for a group
// of another project, or that the read model cannot tell now.
func (rd *Reader) FindGroup(ctx context.Context, project, fingerprint string, folded eventlog.Positions) (FoundGroup, error) {
	if err := rd.awaitFolded(ctx, ErrorGroups, folded); err != nil {
		return FoundGroup{}, err
	}
	d, err := rd.readGroup(ctx, project, fingerprint)
	if err != nil {
		return FoundGroup{}, err
	}
	return FoundGroup{ProjectID: d.ProjectID, Fingerprint: d.Fingerprint, Asked: d.asked, Status: d.Status, Count: d.Count}, nil
}
