package projections

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/readmodel/tables"
)

// physical is one table as ClickHouse has it.
type physical struct {
	name  string
	mark  tables.Mark
	alien error // why the comment could not be read
}

// survey is what tables there are in the database, by name, at one moment.
type survey struct {
	at     time.Time // when it was asked for, by this machine's clock
	now    time.Time // the same by ClickHouse's
	tables map[string]physical
}

// look reads all tables with their marks: the whole state of every generation.
func look(ctx context.Context, conn driver.Conn) (*survey, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := steady(ctx)
	defer cancel()
	s := &survey{at: time.Now(), tables: map[string]physical{}}
	if err := conn.QueryRow(ctx, "SELECT now64(3)").Scan(&s.now); err != nil {
		return nil, fmt.Errorf("asking ClickHouse for the time: %w", err)
	}
	rows, err := conn.Query(ctx, "SELECT name, comment FROM system.tables WHERE database = currentDatabase()")
	if err != nil {
		return nil, fmt.Errorf("looking for tables: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var t physical
		var comment string
		if err := rows.Scan(&t.name, &comment); err != nil {
			return nil, fmt.Errorf("looking for tables: %w", err)
		}
		t.mark, t.alien = tables.ParseMark(comment)
		s.tables[t.name] = t
	}
	return s, rows.Err()
}

// lookTimeout bounds the small questions that are asked all the time.
const lookTimeout = 10 * time.Second

// steady is a context for a small question that is not cut short when ctx ends:
// projectors come and go often, and the engine in library form has been seen to
// end itself when connections are cut in the middle of a query.
func steady(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
}

// live is the mark of the projection's first live table; false when there is none.
func (s *survey) live(p Projection) (tables.Mark, bool) {
	t, ok := s.tables[p.Tables[0].Name]
	return t.mark, ok && t.alien == nil
}

// mixed reports whether the live tables are of different generations: a swap was
// cut short.
func (s *survey) mixed(p Projection) bool {
	first, ok := s.live(p)
	if !ok {
		return false
	}
	for _, t := range p.Tables[1:] {
		if other, ok := s.tables[t.Name]; ok && other.alien == nil && other.mark.Generation != first.Generation {
			return true
		}
	}
	return false
}

// others are the first tables of the projection's generations that are not live,
// by suffix; each stands for all tables of its generation.
func (s *survey) others(p Projection) map[string]tables.Mark {
	found := map[string]tables.Mark{}
	for name, t := range s.tables {
		suffix, ok := strings.CutPrefix(name, p.Tables[0].Name)
		if ok && strings.HasPrefix(suffix, "__") && t.alien == nil && t.mark.Projection == p.Name {
			found[suffix] = t.mark
		}
	}
	return found
}

// building is the generation that is being filled beside the live one. There is
// at most one: asking for a second gives the first.
func (s *survey) building(p Projection) (tables.Mark, bool) {
	for suffix, m := range s.others(p) {
		switch m.State {
		case tables.Building, tables.Swapping, tables.Differing:
			if suffix == tables.GenerationSuffix(m.Generation.Generation) {
				return m, true
			}
		}
	}
	return tables.Mark{}, false
}

// kept is the newest old generation that can be rolled back to.
func (s *survey) kept(p Projection) (tables.Mark, bool) {
	var newest tables.Mark
	for suffix, m := range s.others(p) {
		if m.State == tables.Serving && suffix == tables.GenerationSuffix(m.Generation.Generation) && m.Generation.Generation > newest.Generation.Generation {
			newest = m
		}
	}
	return newest, newest.Generation.Generation > 0
}

// held reports whether somebody asks projectors to leave the groups of the live
// or building generation for now.
func (s *survey) held(p Projection, what tables.Hold) bool {
	now := s.now.Add(time.Since(s.at))
	for _, m := range s.others(p) {
		if m.Holds(what, now) {
			return true
		}
	}
	return false
}

// surveyor shares one survey between all that want a fresh one.
type surveyor struct {
	conn driver.Conn
	mu   sync.Mutex
	last *survey
}

// look is at most age old.
func (s *surveyor) look(ctx context.Context, age time.Duration) (*survey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && time.Since(s.last.at) < age {
		return s.last, nil
	}
	found, err := look(ctx, s.conn)
	if err != nil {
		return nil, err
	}
	s.last = found
	return found, nil
}
