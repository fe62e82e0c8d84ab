package readmodel

import (
	"context"
	"encoding/json"
	"net/http"
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
	shown string // the same as Fingerprint, which is filled in twice
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
	detail, err := rd.readGroup(r.Context(), project, asked)
	if err != nil {
		return err
	}
	q.Project, q.Fingerprints = detail.ProjectID, detail.scope.members(detail.Fingerprint)
	var page occurrencePage
	work, ctx := errgroup.WithContext(r.Context())
	work.Go(func() error { return rd.query(ctx, "occurrences", q.statement(), page.scan) })
	work.Go(func() error { return rd.detail(ctx, &detail) })
	work.Go(func() error { return rd.history(ctx, &detail) })
	if err := work.Wait(); err != nil {
		return err
	}
	if detail.Occurrences, err = page.finish(list, q.Limit); err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusOK, detail)
	return nil
}

// readGroup finds the group that a fingerprint is shown in: its own, the one it
// was merged into, or the one that an older fingerprint stands for.
func (rd *Reader) readGroup(ctx context.Context, project, fingerprint string) (groupDetail, error) {
	d := groupDetail{groupItem: newGroup()}
	if !isHex128(fingerprint) {
		return d, httpapi.NotFound("error group")
	}
	err := rd.query(ctx, "group", GroupQuery{project, fingerprint}.statement(), func(rows driver.Rows) error {
		return rows.Scan(&d.ProjectID, &d.Fingerprint)
	})
	if err != nil {
		return d, err
	}
	if d.ProjectID == "" {
		return d, httpapi.NotFound("error group")
	}
	if d.scope, err = rd.scope(ctx, d.ProjectID); err != nil {
		return d, err
	}
	d.asked, d.Fingerprint = d.Fingerprint, d.scope.root(d.Fingerprint)
	d.shown = d.Fingerprint
	state := GroupStateQuery{d.scope, d.Fingerprint, time.Now()}
	return d, rd.query(ctx, "group_state", state.statement(), func(rows driver.Rows) error {
		return rows.Scan(&d.Fingerprint, &d.Count, (*int64)(&d.FirstSeen), (*int64)(&d.LastSeen), &d.Status)
	})
}

// detail fills in what a list shows too, and all that comes of it.
func (rd *Reader) detail(ctx context.Context, d *groupDetail) error {
	one := []groupItem{d.groupItem}
	if err := rd.describe(ctx, d.scope, one, true); err != nil {
		return err
	}
	d.groupItem = one[0]
	d.Breakdown, d.Explanation = newBreakdown(d.facets), rawJSON(d.explanation)
	d.Merged = append([]string{}, d.scope.members(d.Fingerprint)[1:]...)
	return nil
}

// history fills in when the group was seen and what was decided about it. It
// touches no member that detail does, which runs beside it.
func (rd *Reader) history(ctx context.Context, d *groupDetail) error {
	histogram, decisions := []hourCount{}, []decision{}
	defer func() { d.Histogram, d.Decisions = histogram, decisions }()
	from := time.Now().UTC().Truncate(time.Hour).Add(-(histogramHours - 1) * time.Hour)
	hours := GroupTrendQuery{d.scope, []string{d.shown}, from, histogramHours}
	err := rd.query(ctx, "group_histogram", hours.statement(), func(rows driver.Rows) error {
		var id string
		var slot int64
		var h hourCount
		err := rows.Scan(&id, &slot, &h.Count)
		h.From = from.Add(time.Duration(slot) * time.Hour)
		histogram = append(histogram, h)
		return err
	})
	if err != nil || !d.scope.Decided && len(d.scope.Roots) == 0 {
		return err
	}
	return rd.query(ctx, "group_decisions", DecisionsQuery{d.ProjectID, d.scope.members(d.shown)}.statement(), func(rows driver.Rows) error {
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
