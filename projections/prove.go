package projections

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"weir/eventlog"
)

// ProofRequest says what to prove: that each read model has the rows of the
// project's events received from From (included) to To (not included), by the
// gateway's clock; a zero time bounds nothing.
type ProofRequest struct {
	Project  string
	From, To time.Time
	// Wait is how long to wait for folds that are behind the log as it is now.
	Wait time.Duration
	// Batches, if given, has the ids of batches whose events are to be counted in
	// the log, and gets their numbers.
	Batches map[[16]byte]int64
}

// Proof is what the log was found to hold against what the read models hold.
type Proof struct {
	Project string     `json:"project_id"`
	From    *time.Time `json:"from"` // null: from the first record
	To      *time.Time `json:"to"`
	// Position of the log up to which all of it was counted: its end when the
	// proof began.
	Position string         `json:"position"`
	Accepted []ProofTopic   `json:"accepted"`
	Lines    []ProofLine    `json:"lines"`
	Behind   []ProofBehind  `json:"behind"` // what is not folded up to Position
	Receipts *ProofReceipts `json:"receipts"`
	// Equal says that nothing is missing, repeated or behind.
	Equal   bool    `json:"equal"`
	Records int64   `json:"records"` // read from the log
	Seconds float64 `json:"seconds"`
}

// ProofTopic is how many events of one type the log has of the project, received
// in the time asked for.
type ProofTopic struct {
	Topic  string `json:"topic"`
	Events int64  `json:"events"`
}

// ProofLine compares one table with the log, for one topic.
type ProofLine struct {
	Projection string `json:"projection"`
	Topic      string `json:"topic"`
	Table      string `json:"table"`
	// Scope is "time" when rows of the time asked for were counted, and "all" when
	// the table's rows are sums that do not tell when their records were received.
	Scope string `json:"scope"`
	// Position is that of the fold at which the table was counted.
	Position string `json:"position"`
	// Expected is what the log's records that are not in quarantine must have
	// made of the table, Rows what it has.
	Expected    int64 `json:"expected"`
	Quarantined int64 `json:"quarantined"`
	Rows        int64 `json:"rows"`
	// Difference is "" when they agree, else says in words what is wrong.
	Difference string `json:"difference"`
}

// ProofBehind is a partition that a projection had not folded to the end.
type ProofBehind struct {
	Projection string `json:"projection"`
	Topic      string `json:"topic"`
	Partition  int    `json:"partition"`
	Folded     int64  `json:"folded"`
	End        int64  `json:"end"`
}

// ProofReceipts is what idempotency keys were answered against the log.
type ProofReceipts struct {
	Batches  int64    `json:"batches"`
	Accepted int64    `json:"accepted"` // events, by the answers
	InLog    int64    `json:"in_log"`   // of these
	Short    []string `json:"short"`    // batches with another number than was answered, the first few
}

// receivedSlack is how far apart the clocks of gateways, and so the times of
// neighbors in the log, may be for a bounded proof to find all of its time.
const receivedSlack = 10 * time.Minute

// Prove counts the log itself, without any fold, and compares with the rows of
// every read model. Tables that keep where a row's record is are counted up to a
// position; sums are read while nothing is folded, for which live folding is held
// for a moment should it never pause by itself. done, which may be nil, is told
// now and then how many records of how many are read.
//
// It may run in any process, several times at once.
func (p *Projector) Prove(ctx context.Context, q ProofRequest, done func(read, of int64)) (Proof, error) {
	began := time.Now()
	if err := MakeShared(ctx, p.cfg.ClickHouse, p.cfg.Tables); err != nil {
		return Proof{}, err
	}
	v := &proving{projector: p, asked: q, accepted: map[string]int64{}, events: map[eventlog.TopicPartition]span{}}
	if err := v.bound(ctx); err != nil {
		return Proof{}, err
	}
	behind, err := v.await(ctx)
	if err != nil {
		return Proof{}, err
	}
	for _, projection := range p.cfg.Projections {
		if err := v.readRows(ctx, projection); err != nil {
			return Proof{}, fmt.Errorf("counting the rows of %s: %w", projection.Name, err)
		}
	}
	records, err := v.readLog(ctx, done)
	if err != nil {
		return Proof{}, err
	}
	proof := Proof{
		Project: q.Project, From: orNil(q.From), To: orNil(q.To), Position: v.ends.positions().String(),
		Accepted: v.topics(), Lines: []ProofLine{}, Behind: behind, Equal: len(behind) == 0, Records: records, Seconds: time.Since(began).Seconds(),
	}
	for _, l := range v.lines {
		line := l.result()
		proof.Equal = proof.Equal && line.Difference == ""
		proof.Lines = append(proof.Lines, line)
	}
	return proof, nil
}

func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// proving is one proof under way.
type proving struct {
	projector *Projector
	asked     ProofRequest
	starts    vector // first offsets
	ends      vector // as they were when the proof began
	scope     map[eventlog.TopicPartition]span
	events    map[eventlog.TopicPartition]span // of the events topics, in scope
	lines     []*proofLine
	mu        sync.Mutex
	accepted  map[string]int64
}

// bound finds the part of the log that is asked for.
func (v *proving) bound(ctx context.Context) error {
	v.starts, v.ends, v.scope = vector{}, vector{}, map[eventlog.TopicPartition]span{}
	log := v.projector.cfg.Log
	for _, topic := range allTopics(v.projector.cfg.Projections) {
		bounds, err := log.Bounds(ctx, topic)
		if err != nil {
			return err
		}
		for _, b := range bounds {
			tp := topicPartition(topic, b.Partition)
			v.starts[tp], v.ends[tp] = b.Start, b.End
			s := span{b.Start, b.End}
			if !v.asked.From.IsZero() {
				if s.from, err = log.OffsetAt(ctx, topic, b.Partition, v.asked.From); err != nil {
					return err
				}
			}
			if !v.asked.To.IsZero() {
				to, err := log.OffsetAt(ctx, topic, b.Partition, v.asked.To.Add(receivedSlack))
				if err != nil {
					return err
				}
				s.to = min(s.to, to)
			}
			v.scope[tp] = s
			if slices.Contains(eventlog.EventsTopics(), topic) {
				v.events[tp] = s
			}
		}
	}
	return nil
}

func allTopics(all []Projection) []string {
	var topics []string
	known := map[string]bool{}
	for _, p := range all {
		for _, topic := range p.Topics {
			if !known[topic] {
				known[topic] = true
				topics = append(topics, topic)
			}
		}
	}
	return topics
}

// await waits until every fold has passed the ends, or the time to wait is over,
// and says who has not.
func (v *proving) await(ctx context.Context) ([]ProofBehind, error) {
	deadline := time.Now().Add(v.asked.Wait)
	for {
		behind := []ProofBehind{}
		for _, p := range v.projector.cfg.Projections {
			late, err := v.behind(ctx, p)
			if err != nil {
				return nil, err
			}
			behind = append(behind, late...)
		}
		if len(behind) == 0 || time.Now().After(deadline) {
			return behind, nil
		}
		if pause(ctx, quietRetry); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

func (v *proving) behind(ctx context.Context, p Projection) ([]ProofBehind, error) {
	_, at, err := v.folded(ctx, p)
	if err != nil {
		return nil, err
	}
	var late []ProofBehind
	for tp, end := range v.ends {
		if folded, ours := at[tp]; ours && folded < end {
			late = append(late, ProofBehind{Projection: p.Name, Topic: tp.Topic, Partition: tp.Partition, Folded: folded, End: end})
		}
	}
	return late, nil
}

// folded is the live generation and its checkpoints.
func (v *proving) folded(ctx context.Context, p Projection) (generation int, at vector, err error) {
	s, err := look(ctx, v.projector.cfg.ClickHouse)
	if err != nil {
		return 0, nil, err
	}
	live, ok := s.live(p)
	if !ok || s.mixed(p) {
		return 0, nil, fmt.Errorf("%w: %s", ErrNoTables, p.Name)
	}
	generation = live.Generation.Generation
	checkpoints, err := v.projector.cfg.Log.Checkpoints(ctx, Group(p.Name, generation), p.Topics)
	if err != nil {
		return 0, nil, err
	}
	at = vector{}
	for tp, c := range checkpoints {
		if at[tp] = v.starts[tp]; c.Exists {
			at[tp] = c.Offset
		}
	}
	return generation, at, nil
}

// readLog reads every partition once, for all lines, and returns how many records
// that were.
func (v *proving) readLog(ctx context.Context, done func(read, of int64)) (int64, error) {
	spans := map[eventlog.TopicPartition]span{}
	for tp, s := range v.events {
		spans[tp] = s
	}
	for _, l := range v.lines {
		for tp, s := range l.spans {
			spans[tp] = spans[tp].join(s)
		}
	}
	var read, of int64
	for _, s := range spans {
		of += s.size()
	}
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(2)
	for tp, s := range spans {
		work.Go(func() error {
			return scan(ctx, v.projector.cfg.Log, tp, s, func(records []eventlog.Record) {
				v.mu.Lock()
				defer v.mu.Unlock()
				v.count(tp, records)
				if read += int64(len(records)); done != nil {
					done(read, of)
				}
			})
		})
	}
	err := work.Wait()
	return read, err
}

// count adds one chunk to all lines that it belongs to.
func (v *proving) count(tp eventlog.TopicPartition, records []eventlog.Record) {
	scope, isEvents := v.events[tp]
	for i := range records {
		r := &records[i]
		if string(r.Key) != v.asked.Project {
			continue
		}
		if isEvents && scope.has(r.Offset) && v.inTime(r) {
			v.accepted[tp.Topic]++
		}
		if n, asked := v.asked.Batches[r.Batch]; asked {
			v.asked.Batches[r.Batch] = n + 1
		}
		for _, l := range v.lines {
			if l.spans[tp].has(r.Offset) && (!l.timed || v.inTime(r)) {
				l.add(tp, r)
			}
		}
	}
}

func (v *proving) inTime(r *eventlog.Record) bool {
	return (v.asked.From.IsZero() || !r.Time.Before(v.asked.From)) && (v.asked.To.IsZero() || r.Time.Before(v.asked.To))
}

func (v *proving) topics() []ProofTopic {
	list := []ProofTopic{}
	for _, topic := range eventlog.EventsTopics() {
		list = append(list, ProofTopic{topic, v.accepted[topic]})
	}
	return list
}
