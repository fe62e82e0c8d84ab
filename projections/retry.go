package projections

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"weir/eventlog"
	"weir/readmodel/tables"
)

const (
	// retryEvery is how often the leader looks for records to retry.
	retryEvery = 2 * time.Second
	// retryBatch is how many records are planned at once: what a crash leaves to be
	// repeated, and with it the tokens that the tables must remember.
	retryBatch = 200
	// retryDoubt is how old a plan may be for its inserts to be repeated: the tables
	// remember the tokens of ten minutes at least (see TokenWindow).
	retryDoubt = 5 * time.Minute
)

// RetryFilter chooses records in quarantine; what is empty or nil chooses all.
type RetryFilter struct {
	Topic     string
	Partition *int
	Offset    *int64
	Project   string
	Reason    string // a part of it
}

func (f RetryFilter) conditions() (string, []any) {
	where, args := "1", []any{}
	add := func(condition string, value any) { where, args = where+" AND "+condition, append(args, value) }
	if f.Topic != "" {
		add("topic = ?", f.Topic)
	}
	if f.Partition != nil {
		add("`partition` = ?", *f.Partition)
	}
	if f.Offset != nil {
		add("`offset` = ?", *f.Offset)
	}
	if f.Project != "" {
		add("project_id = ?", f.Project)
	}
	if f.Reason != "" {
		add("position(reason, ?) > 0", f.Reason)
	}
	return where, args
}

// RetryCounts are how many records of the live generation are at which step.
type RetryCounts struct {
	Generation int    `json:"generation"`
	Asked      uint64 `json:"asked"` // or being inserted
	Refused    uint64 `json:"refused"`
	InDoubt    uint64 `json:"in_doubt"`
	Retried    uint64 `json:"retried"`
	Open       uint64 `json:"open"` // in quarantine, never asked for
}

// latestRetries is the query of how far the retries of one generation are.
func latestRetries(projection string, generation int) string {
	return fmt.Sprintf("SELECT topic, `partition`, `offset`, max(latest) AS l FROM quarantine_retries WHERE projection = '%s' AND generation = %d GROUP BY topic, `partition`, `offset`",
		projection, generation)
}

// Retry asks for records in quarantine to be folded again by the live generation,
// and returns how many are asked for. The projector that leads does it, within some
// seconds: what the fold takes now is inserted once, whatever is killed on the way,
// and is in quarantine no longer; the rest stays, with the reason. What is asked for
// already, or was retried, is not asked for again.
func (r Rebuilds) Retry(ctx context.Context, name string, f RetryFilter) (int64, error) {
	p, s, err := r.survey(ctx, name)
	if err != nil {
		return 0, err
	}
	live, ok := s.live(p)
	if !ok {
		return 0, fmt.Errorf("%w: %s", ErrNoTables, name)
	}
	if err := MakeShared(ctx, r.ClickHouse, r.Tables); err != nil {
		return 0, err
	}
	generation := live.Generation.Generation
	where, args := f.conditions()
	from := fmt.Sprintf("FROM (SELECT topic, `partition`, `offset` FROM quarantine WHERE projection = '%s' AND generation = %d AND %s) AS q LEFT JOIN (%s) AS r USING (topic, `partition`, `offset`) "+
		"WHERE tupleElement(r.l, 2) IN (0, %d)", name, generation, where, latestRetries(name, generation), tables.RetryRefused)
	var asked uint64
	if err := r.ClickHouse.QueryRow(ctx, "SELECT count() "+from, args...).Scan(&asked); err != nil {
		return 0, fmt.Errorf("looking for what to retry of %s: %w", name, err)
	}
	if asked == 0 {
		return 0, nil
	}
	insert := fmt.Sprintf("INSERT INTO quarantine_retries SELECT '%s', %d, topic, `partition`, `offset`, (tupleElement(r.l, 1) + 1, %d, now64(3, 'UTC'), '') ", name, generation, tables.RetryAsked)
	if err := r.ClickHouse.Exec(ctx, insert+from, args...); err != nil {
		return 0, fmt.Errorf("asking for the retry of %d records of %s: %w", asked, name, err)
	}
	return int64(asked), nil
}

// Retries counts what is in quarantine of the live generation, by step.
func (r Rebuilds) Retries(ctx context.Context, name string) (RetryCounts, error) {
	p, s, err := r.survey(ctx, name)
	if err != nil {
		return RetryCounts{}, err
	}
	live, ok := s.live(p)
	if !ok {
		return RetryCounts{}, fmt.Errorf("%w: %s", ErrNoTables, name)
	}
	if err := MakeShared(ctx, r.ClickHouse, r.Tables); err != nil {
		return RetryCounts{}, err
	}
	c := RetryCounts{Generation: live.Generation.Generation}
	query := fmt.Sprintf("SELECT countIf(step IN (%d, %d)), countIf(step = %d), countIf(step = %d), countIf(step = %d), countIf(step = 0) FROM "+
		"(SELECT tupleElement(r.l, 2) AS step FROM (SELECT topic, `partition`, `offset` FROM quarantine WHERE projection = '%s' AND generation = %d) AS q LEFT JOIN (%s) AS r USING (topic, `partition`, `offset`))",
		tables.RetryAsked, tables.RetryPlanned, tables.RetryRefused, tables.RetryDoubt, tables.RetryDone, name, c.Generation, latestRetries(name, c.Generation))
	err = r.ClickHouse.QueryRow(ctx, query).Scan(&c.Asked, &c.Refused, &c.InDoubt, &c.Retried, &c.Open)
	return c, err
}

// retrial is the retry of one record.
type retrial struct {
	place
	attempt uint32
	step    uint8
	age     time.Duration // since the step
	reason  string
	blocks  []Block
}

// retry folds what was asked for again, each record by itself and with tokens of
// its own:
//
//	asked ─▶ plan ─▶ insert every table's block ─▶ done
//
// Whatever is killed between two steps, the next leader finds the plan and inserts
// the same rows with the same tokens. A plan that lay for so long that the tokens
// may be forgotten is not repeated: it is marked as in doubt.
func (p *Projector) retry(ctx context.Context, projection Projection) error {
	s, err := look(ctx, p.cfg.ClickHouse)
	if err != nil {
		return err
	}
	live, ok := s.live(projection)
	if !ok || live.Version != projection.Version || s.mixed(projection) || s.held(projection, tables.HoldLive) {
		return errQuiet
	}
	open, err := p.openRetries(ctx, projection, live.Generation)
	if err != nil || len(open) == 0 {
		return err
	}
	left := retryDoubt
	for _, r := range open {
		if r.step == tables.RetryPlanned {
			left = min(left, retryDoubt-r.age)
		}
	}
	if left <= 0 {
		return p.tellRetries(ctx, projection, live.Generation, s, open, func(r *retrial) bool {
			r.reason = "its inserts were cut short too long ago to be repeated safely: weir verify says whether rows are missing, a rebuild folds it anew"
			r.step = tables.RetryDoubt
			return r.age >= retryDoubt
		})
	}
	deadline := time.Now().Add(left)
	var taken []*retrial
	for _, r := range open {
		if err := p.tryRecord(ctx, projection, r); err != nil {
			return err
		}
		if r.reason == "" {
			taken = append(taken, r)
		}
	}
	if err := p.tellRetries(ctx, projection, live.Generation, s, open, func(r *retrial) bool {
		switch {
		case r.step == tables.RetryAsked && r.reason == "":
			r.step = tables.RetryPlanned
		case r.step == tables.RetryAsked:
			r.step = tables.RetryRefused
		case r.reason != "": // planned by a binary that took it, and perhaps partly inserted
			r.step = tables.RetryDoubt
		default:
			return false
		}
		return true
	}); err != nil {
		return err
	}
	return p.putRetries(ctx, projection, live.Generation, s, taken, deadline)
}

// putRetries inserts what is planned, unless somebody asks for the tables to stand
// still since.
func (p *Projector) putRetries(ctx context.Context, projection Projection, g tables.Generation, s *survey, taken []*retrial, deadline time.Time) error {
	if len(taken) == 0 {
		return nil
	}
	again, err := look(ctx, p.cfg.ClickHouse)
	if err != nil || again.held(projection, tables.HoldLive) {
		return err
	}
	target, err := newSink(ctx, p.cfg.ClickHouse, p.cfg.Blocks, g, "", p.spare)
	if err != nil {
		return err
	}
	target.timeout = p.insertTimeout
	into := p.faultySink(target)
	for _, r := range taken {
		for _, b := range r.blocks {
			if b.Rows == 0 {
				continue
			}
			if time.Now().Round(0).After(deadline.Round(0)) {
				return fmt.Errorf("retrying records of %s takes too long", projection.Name)
			}
			name := token(projection.Name, g.Generation, r.tp, r.offset, r.offset+1, b.Table.Name) + ":retry"
			if err := into.insert(ctx, name, b); err != nil {
				if refold(err) {
					return errQuiet // swapped: the new generation has folded these records itself
				}
				return fmt.Errorf("retrying %s partition %d offset %d: %w", r.tp.Topic, r.tp.Partition, r.offset, err)
			}
		}
	}
	err = p.tellRetries(ctx, projection, g, s, taken, func(r *retrial) bool { r.step = tables.RetryDone; return true })
	if err == nil {
		p.metrics.retried.WithLabelValues(projection.Name).Add(float64(len(taken)))
		p.cfg.Logger.Info("records were taken out of quarantine", "projection", projection.Name, "records", len(taken))
	}
	return err
}

// openRetries are the next ones to do, planned ones first and alone: all of them
// are ended before others are planned.
func (p *Projector) openRetries(ctx context.Context, projection Projection, g tables.Generation) ([]*retrial, error) {
	ctx, cancel := steady(ctx)
	defer cancel()
	query := "SELECT toString(topic), `partition`, `offset`, tupleElement(l, 1), tupleElement(l, 2) AS step, toInt64(dateDiff('millisecond', tupleElement(l, 3), now64(3, 'UTC'))) FROM (" +
		latestRetries(projection.Name, g.Generation) + fmt.Sprintf(") WHERE step IN (%d, %d) ORDER BY step DESC, topic, `partition`, `offset` LIMIT %d", tables.RetryAsked, tables.RetryPlanned, retryBatch)
	rows, err := p.cfg.ClickHouse.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("looking for records of %s to retry: %w", projection.Name, err)
	}
	defer rows.Close()
	var found []*retrial
	for rows.Next() {
		var r retrial
		var partition uint32
		var age int64
		if err := rows.Scan(&r.tp.Topic, &partition, &r.offset, &r.attempt, &r.step, &age); err != nil {
			return nil, fmt.Errorf("looking for records of %s to retry: %w", projection.Name, err)
		}
		r.tp.Partition, r.age = int(partition), time.Duration(age)*time.Millisecond
		if len(found) > 0 && found[0].step != r.step {
			break
		}
		found = append(found, &r)
	}
	return found, rows.Err()
}

// tryRecord folds one record by itself: blocks, or the reason why not.
func (p *Projector) tryRecord(ctx context.Context, projection Projection, r *retrial) error {
	var record []eventlog.Record
	err := scan(ctx, p.cfg.Log, r.tp, span{r.offset, r.offset + 1}, func(records []eventlog.Record) { record = append(record, records...) })
	switch {
	case errors.Is(err, eventlog.ErrBehindRetention), errors.Is(err, eventlog.ErrPastEnd):
		r.reason = "the log does not have the record any more"
		return nil
	case err != nil:
		return err
	case len(record) != 1:
		r.reason = fmt.Sprintf("the log has %d records at its offset", len(record))
		return nil
	}
	f := newFolding(projection.New())
	f.begin(r.offset)
	f.add(record, r.offset+1)
	if why, out := f.refused[r.offset]; out {
		r.reason = strings.ToValidUTF8(why.reason, "\uFFFD")
		return nil
	}
	r.blocks = f.fold.Blocks()
	return nil
}

// tellRetries writes the next step of those that change.
func (p *Projector) tellRetries(ctx context.Context, projection Projection, g tables.Generation, s *survey, all []*retrial, next func(*retrial) bool) error {
	t := tables.QuarantineRetries()
	at := s.now.Add(time.Since(s.at))
	b := Block{Table: t}
	var names, topics []string
	var generations, partitions []uint32
	var offsets []int64
	var latest [][]any
	for _, r := range all {
		if !next(r) {
			continue
		}
		names, generations = append(names, projection.Name), append(generations, uint32(g.Generation))
		topics, partitions, offsets = append(topics, r.tp.Topic), append(partitions, uint32(r.tp.Partition)), append(offsets, r.offset)
		latest = append(latest, []any{r.attempt, r.step, at, r.reason})
	}
	if b.Rows = len(names); b.Rows == 0 {
		return nil
	}
	b.Columns = []any{names, generations, topics, partitions, offsets, latest}
	return p.faultyExec("retry "+fmt.Sprint(all[0].step), func() error {
		ctx, cancel := steady(ctx)
		defer cancel()
		return send(ctx, p.cfg.Blocks, map[string]string{"async_insert": "0"}, t.Name, b)
	})
}

// retrying reports whether the rows of a retry are on their way.
func (p *Projector) retrying(ctx context.Context, projection string, generation int) (bool, error) {
	ctx, cancel := steady(ctx)
	defer cancel()
	var n uint64
	err := p.cfg.ClickHouse.QueryRow(ctx, "SELECT count() FROM ("+latestRetries(projection, generation)+fmt.Sprintf(") WHERE tupleElement(l, 2) = %d", tables.RetryPlanned)).Scan(&n)
	return n > 0, err
}
