package readmodel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"weir/readmodel/tables"
)

const (
	// listFrom is how many groups make a list worth its upkeep: below that a read
	// groups them itself in a few milliseconds.
	listFrom = 2000

	// listsEvery is how often changes are looked for.
	listsEvery = time.Second

	// listsRest is how long a list rests after it was made, in multiples of the
	// time that took: so keeping lists never takes more than a third of one core.
	listsRest = 2

	// ListBuildTime bounds the making of one list, and so how long its connection
	// must be ready to wait for an answer.
	ListBuildTime = 2 * time.Minute

	// listHorizon bounds the age of a list at rest: its hours end there.
	listHorizon = 24 * time.Hour
)

// GroupListsConfig is what GroupLists needs.
type GroupListsConfig struct {
	// Conn writes error_group_list and reads the tables it is made from. At
	// least three connections.
	Conn driver.Conn
	// Lead runs keep while this process is the one that keeps the lists, again
	// and again until ctx ends; nil: it is the only one.
	Lead func(ctx context.Context, keep func(context.Context) error) error

	Tables     tables.Options
	From       int // groups that a project with a list has at least; 0 means 2000
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// GroupLists keeps error_group_list: it holds nothing that the other tables do
// not, and can be dropped at any time. It runs beside the projector, in one
// process at a time.
//
// Once a second it looks whether any part of the tables below changed (nothing
// else is done at rest), then which projects did, and makes their lists anew:
// into a table of its own, whole, and then in place by REPLACE PARTITION. At
// 100,000 groups that is some three seconds of one thread, at the lowest
// priority, and then that list rests for twice as long.
type GroupLists struct {
	cfg      GroupListsConfig
	log      *slog.Logger
	made     map[string]listMade
	parts    uint64
	prepared bool // the table is there
	built    *prometheus.HistogramVec
	failing  bool
}

// listMade is what a project's list was made from, and when it may be made again.
type listMade struct {
	mark     string
	at, next time.Time
}

// NewGroupLists starts nothing.
func NewGroupLists(cfg GroupListsConfig) *GroupLists {
	setDefault(&cfg.From, listFrom)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	l := &GroupLists{cfg: cfg, log: cfg.Logger, made: map[string]listMade{}}
	l.built = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "weir", Subsystem: "errors", Name: "list_build_seconds",
		Help: "Time to make the list of error groups of one project.", Buckets: prometheus.ExponentialBuckets(0.01, 2, 12),
	}, []string{"outcome"})
	if cfg.Registerer != nil {
		cfg.Registerer.MustRegister(l.built)
	}
	return l
}

// Run keeps the lists until ctx ends, and returns nil then. What fails is
// logged and tried again; reads notice a list that is not kept and do without.
func (l *GroupLists) Run(ctx context.Context) error {
	if l.cfg.Lead == nil {
		return l.keep(ctx)
	}
	return l.cfg.Lead(ctx, l.keep)
}

func (l *GroupLists) keep(ctx context.Context) error {
	tick := time.NewTicker(listsEvery)
	defer tick.Stop()
	l.made, l.parts, l.prepared = map[string]listMade{}, 0, false
	for ctx.Err() == nil {
		err := l.Refresh(ctx)
		if err != nil && ctx.Err() == nil && !l.failing {
			l.log.Error("the lists of error groups are not kept up to date; reads do without them until they are", "error", err)
		}
		l.failing = err != nil
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// Refresh makes every list that is due. Run calls it; a test may.
func (l *GroupLists) Refresh(ctx context.Context) error {
	if err := l.prepare(ctx); err != nil {
		return fmt.Errorf("making table error_group_list: %w", err)
	}
	parts, err := l.readParts(ctx)
	if err != nil {
		return err
	}
	waiting := parts == l.parts && !l.anyDue()
	if waiting {
		return nil
	}
	marks, err := l.marks(ctx)
	var ex *clickhouse.Exception
	if errors.As(err, &ex) && ex.Code == codeUnknownTable {
		return nil // no projector has made them yet
	}
	if err != nil {
		return err
	}
	var failed error
	behind := false
	for project, mark := range marks {
		m := l.made[project]
		if m.mark == mark && time.Since(m.at) < listHorizon {
			continue
		}
		if time.Now().Before(m.next) {
			behind = true
			continue
		}
		if err := l.rebuild(ctx, project, mark); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	if failed == nil && !behind {
		l.parts = parts
	}
	return failed
}

func (l *GroupLists) anyDue() bool {
	for _, m := range l.made {
		if time.Since(m.at) >= listHorizon {
			return true
		}
	}
	return false
}

// prepare makes the table, instead of one that an older or newer version of the
// service left: reads do without lists meanwhile.
func (l *GroupLists) prepare(ctx context.Context) error {
	if l.prepared {
		return nil
	}
	name := tables.ErrorGroupList().Name
	var comment string
	err := l.cfg.Conn.QueryRow(ctx, "SELECT any(comment) FROM system.tables WHERE database = currentDatabase() AND name = ?", name).Scan(&comment)
	if err != nil {
		return err
	}
	if was, err := tables.ParseComment(comment); comment != "" && (err != nil || was.Version != tables.ErrorGroupListVersion) {
		if err := l.cfg.Conn.Exec(ctx, "DROP TABLE "+name+" SYNC"); err != nil {
			return err
		}
	}
	err = l.cfg.Conn.Exec(ctx, l.create(name))
	l.prepared = err == nil
	return err
}

// create has the definition with a comment of its own: the table belongs to no generation.
func (l *GroupLists) create(name string) string {
	return tables.ErrorGroupList().Create(name, tables.Generation{Projection: "error_group_list", Version: tables.ErrorGroupListVersion, Generation: 1}, l.cfg.Tables)
}

// readParts sums up which parts the tables consist of: as long as it is the same, so are the rows.
func (l *GroupLists) readParts(ctx context.Context) (uint64, error) {
	var sum uint64
	err := l.cfg.Conn.QueryRow(ctx, "SELECT groupBitXor(cityHash64(table, path)) FROM system.parts "+ // the path tells tables apart that exchanged names
		"WHERE database = currentDatabase() AND active AND table IN ('error_groups', 'error_triage', 'error_aliases')").Scan(&sum)
	if err != nil {
		return 0, fmt.Errorf("looking for changes of the error groups: %w", err)
	}
	return sum + 1, nil // 0 is "never looked"
}

// marks says of each large project what its list depends on.
func (l *GroupLists) marks(ctx context.Context) (map[string]string, error) {
	rows, err := l.cfg.Conn.Query(l.settings(ctx, 2), `
		SELECT g.project_id, concat(comment, ' ', toString(g.occurrences), ' ', toString(g.shown), ' ', toString(t.decided), ' ', toString(a.renamed))
		FROM (SELECT project_id, sum(count) AS occurrences, uniq(fingerprint) AS shown FROM error_groups GROUP BY project_id HAVING shown >= ?) AS g
		LEFT JOIN (SELECT project_id, max(offset) AS decided FROM error_triage GROUP BY project_id) AS t ON t.project_id = g.project_id
		LEFT JOIN (SELECT project_id, sum(count) AS renamed FROM error_aliases GROUP BY project_id) AS a ON a.project_id = g.project_id
		CROSS JOIN (SELECT any(comment) AS comment FROM system.tables WHERE database = currentDatabase() AND name = 'error_groups') AS c`, uint64(l.cfg.From))
	if err != nil {
		return nil, fmt.Errorf("looking for projects with many error groups: %w", err)
	}
	defer rows.Close()
	marks := map[string]string{}
	for rows.Next() {
		var project, mark string
		if err := rows.Scan(&project, &mark); err != nil {
			return nil, fmt.Errorf("looking for projects with many error groups: %w", err)
		}
		marks[project] = mark
	}
	return marks, rows.Err()
}

// settings are those of every read of this package but for being read only;
// reads of people go first.
func (l *GroupLists) settings(ctx context.Context, threads int) context.Context {
	s := querySettings()
	delete(s, "readonly")
	delete(s, "max_result_rows")
	delete(s, "result_overflow_mode")
	s["output_format_json_quote_64bit_integers"] = 0 // the column item is read back as JSON
	s["max_threads"], s["priority"], s["max_execution_time"] = threads, 10, int(ListBuildTime/time.Second)
	return clickhouse.Context(ctx, clickhouse.WithSettings(s))
}

// staging is where a list is made before it is put in place.
const staging = "error_group_list_next"

func (l *GroupLists) rebuild(ctx context.Context, project, mark string) error {
	start := time.Now()
	err := l.build(ctx, project)
	took := time.Since(start)
	outcome := "done"
	if err != nil {
		outcome, l.prepared = "failed", false // somebody may have dropped the table
		err = fmt.Errorf("making the list of error groups of project %s: %w", project, err)
		mark = ""
	}
	l.built.WithLabelValues(outcome).Observe(took.Seconds())
	now := time.Now()
	l.made[project] = listMade{mark: mark, at: now, next: now.Add(listsRest * took)}
	return err
}

func (l *GroupLists) build(ctx context.Context, project string) error {
	ctx = l.settings(ctx, 1)
	for _, sql := range []string{"DROP TABLE IF EXISTS " + staging + " SYNC", l.create(staging)} {
		if err := l.cfg.Conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	scope, err := asker(l.ask).scope(ctx, project)
	if err != nil {
		return err
	}
	s := GroupListBuild{scope, trendStart()}.statement()
	if err := l.cfg.Conn.Exec(ctx, s.SQL, s.named()...); err != nil {
		return err
	}
	replace := Statement{SQL: "ALTER TABLE error_group_list REPLACE PARTITION {p0:String} FROM " + staging, Args: []Arg{{"p0", project}}}
	return l.cfg.Conn.Exec(ctx, replace.SQL, replace.named()...)
}

func (l *GroupLists) ask(ctx context.Context, _ string, s Statement, scan func(driver.Rows) error) error {
	return run(ctx, l.cfg.Conn, s, scan)
}

// GroupListBuild fills the staging table with the list of one project. The hours
// it keeps are those that a trend can show until the list is made again.
type GroupListBuild struct {
	scope groupScope
	From  time.Time
}

func (q GroupListBuild) statement() Statement {
	var b builder
	flat := b.flatGroups(q.scope, nil, true)
	root, project := q.scope.rooted(&b), b.text(q.scope.Project)
	// shown and not fingerprint: a column's name goes before an alias.
	facets := "SELECT shown, " + listedValues(tables.FacetEnvironment) + " AS environments, " + listedValues(tables.FacetService) + " AS services, " +
		listedValues(tables.FacetRelease) + " AS releases, toUInt8(max(facets) > " + strconv.Itoa(tables.ListedValues) + ") AS more" +
		" FROM (SELECT shown, facet, arraySort(x -> (-x.1, x.2), groupArray((toInt64(total), value))) AS seen, length(seen) AS facets FROM (" +
		"SELECT " + root + " AS shown, facet, value, sum(count) AS total FROM error_group_facets WHERE project_id = " + project +
		" AND facet IN ('" + tables.FacetEnvironment + "', '" + tables.FacetService + "', '" + tables.FacetRelease + "')" +
		" GROUP BY shown, facet, value) GROUP BY shown, facet) GROUP BY shown"
	hours := "SELECT shown, groupArray(since) AS hours, groupArray(total) AS hits FROM (SELECT " + root + " AS shown," +
		" toUInt32(intDiv(toUnixTimestamp(hour), 3600)) AS since, sum(count) AS total FROM error_group_hours WHERE project_id = " + project +
		" AND hour >= " + b.moment(q.From) + " AND hour < " + b.moment(q.From.Add(2*listHorizon+trendHours*time.Hour)) + " GROUP BY shown, since) GROUP BY shown"
	item := "toJSONString(CAST((g.newest.name, g.newest.message, g.newest.culprit, g.earliest_release.release, g.latest_release.release, " +
		shown("f.environments") + ", " + shown("f.services") + ", h.hours, h.hits), 'Tuple(name String, message String, culprit String, " +
		"first_release String, last_release String, environments Array(String), services Array(String), hours Array(UInt32), hits Array(UInt64))'))"
	orders := "[('last_seen', last_at), ('first_seen', first_at), ('count', total)]"
	row := "SELECT " + project + " AS project_id, g.fingerprint AS fingerprint, g.total AS total, g.first_at AS first_at, g.last_at AS last_at, g.state AS state, g.ignored_until AS ignored_until, " +
		"f.environments AS environments, f.services AS services, f.releases AS releases, f.more AS more, " + searched("g.newest.name", "g.newest.message", "g.newest.culprit") + " AS search, " +
		item + " AS item FROM (" + flat + ") AS g LEFT JOIN (" + facets + ") AS f ON f.shown = g.fingerprint LEFT JOIN (" + hours + ") AS h ON h.shown = g.fingerprint"
	return b.statement("INSERT INTO", staging, "SELECT project_id, o.1 AS sorted, o.2 AS place, fingerprint, total, first_at, last_at,",
		"state, ignored_until, environments, services, releases, more, search, item FROM (SELECT *, arrayJoin("+orders+") AS o FROM ("+row+"))")
}

// listedValues is the values of one facet, the most frequent first.
func listedValues(facet string) string {
	return "arrayFlatten(groupArrayIf(arrayMap(x -> x.2, arraySlice(seen, 1, " + strconv.Itoa(tables.ListedValues) + ")), facet = '" + facet + "'))"
}
