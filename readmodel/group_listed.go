package readmodel

import (
	"context"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// How long it is believed that a project has a list, or has none. Lists stay
// once they are made; a project that has none can get one any second.
const (
	listedFor   = 5 * time.Second
	unlistedFor = time.Second

	// keptWithin is how long a list may stay as it is while its groups change,
	// before reads stop trusting it: then nobody keeps it up to date.
	keptWithin = time.Minute

	// mostListed bounds what is remembered.
	mostListed = 10_000
)

// listed knows which projects' groups can be read from error_group_list, so
// that a read need not ask. The zero value knows of none.
type listed struct {
	mu       sync.Mutex
	projects map[string]*listing
}

// listing is what is known of one project's list.
type listing struct {
	checked     time.Time
	checking    bool
	exists      bool
	more        bool   // some group has more values of a facet than its row lists
	inList      uint64 // occurrences it counts
	inGroups    uint64 // occurrences there are
	lastChanged time.Time
}

func (l *listing) fresh() bool {
	if l.exists {
		return time.Since(l.checked) < listedFor
	}
	return time.Since(l.checked) < unlistedFor
}

// kept says whether the list can be trusted.
func (l *listing) kept() bool {
	return l.exists && (l.inList == l.inGroups || time.Since(l.lastChanged) < keptWithin)
}

// keptList is what a read must know of a list.
type keptList struct{ there, more bool }

// list is the one that can be read.
func (l *listing) list() keptList { return keptList{l.kept(), l.more} }

// find says whether the project's groups can be read from its list. It asks
// ClickHouse the first time; later in the background.
func (s *listed) find(ctx context.Context, rd *Reader, project string) keptList {
	s.mu.Lock()
	l := s.projects[project]
	known := l != nil
	if !known {
		if s.projects == nil || len(s.projects) >= mostListed {
			s.projects = map[string]*listing{}
		}
		l = &listing{}
		s.projects[project] = l
	}
	kept, ask := l.list(), !l.fresh() && !l.checking
	l.checking = l.checking || ask
	s.mu.Unlock()
	switch {
	case !ask:
		return kept
	case known && kept.there:
		go s.check(context.WithoutCancel(ctx), rd, project, l)
		return kept
	}
	return s.check(ctx, rd, project, l)
}

// ListedQuery reads whether a project has a list, and whether it is up to date.
type ListedQuery struct{ Project string }

func (q ListedQuery) statement() Statement {
	var b builder
	list := "error_group_list WHERE project_id = " + b.text(q.Project) + " AND sorted = '" + ByLastSeen + "'"
	return b.statement("SELECT (SELECT count() > 0 FROM (SELECT 1 FROM", list, "LIMIT 1)) AS there,",
		"if(there, (SELECT sum(total) FROM", list+"), 0) AS in_list,",
		"if(there, (SELECT max(more) FROM", list+"), 0) AS more,",
		"if(there, (SELECT sum(count) FROM error_groups WHERE project_id =", b.text(q.Project)+"), 0) AS in_groups")
}

// check asks. A table that is not there, or no answer, is a list that is not there.
func (s *listed) check(ctx context.Context, rd *Reader, project string, l *listing) keptList {
	var there, more uint8
	var inList int64
	var inGroups uint64
	err := rd.query(ctx, "group_listed", ListedQuery{project}.statement(), func(rows driver.Rows) error {
		return rows.Scan(&there, &inList, &more, &inGroups)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.inList != uint64(inList) || !l.exists {
		l.lastChanged = time.Now()
	}
	l.checked, l.checking, l.exists = time.Now(), false, err == nil && there != 0
	l.more = more != 0
	l.inList, l.inGroups = uint64(inList), inGroups
	return l.list()
}
