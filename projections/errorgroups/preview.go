package errorgroups

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"weir/eventlog"
	"weir/projections/errorgroups/grouping"
	"weir/schemas"
)

// Preview is what another algorithm would change.
type Preview struct {
	From         int    `json:"from"` // algorithms
	To           int    `json:"to"`
	Events       uint64 `json:"events"`
	Skipped      uint64 `json:"skipped,omitempty"` // records that are no error events
	GroupsBefore int    `json:"groups_before"`
	GroupsAfter  int    `json:"groups_after"`
	// Split is how many groups would come apart, Merged how many of the new ones
	// would hold events of several old ones, Renamed how many groups only change
	// their fingerprint.
	Split   int `json:"split"`
	Merged  int `json:"merged"`
	Renamed int `json:"renamed"`
	// Moved counts the events that would leave the company of the most of their
	// group: what a split takes away and what a merge brings in.
	Moved uint64 `json:"moved"`
	// Splits and Merges are the largest of them.
	Splits []PreviewGroup `json:"splits"`
	Merges []PreviewGroup `json:"merges"`
}

// PreviewGroup is a group that splits, or one that others merge into.
type PreviewGroup struct {
	ProjectID   string        `json:"project_id"`
	Fingerprint string        `json:"fingerprint"`
	Name        string        `json:"name"`
	Events      uint64        `json:"events"`
	Parts       []PreviewPart `json:"parts"` // the largest first, at most 20
	MoreParts   int           `json:"more_parts,omitempty"`
}

// PreviewPart is one side of a split or merge.
type PreviewPart struct {
	Fingerprint string `json:"fingerprint"`
	Events      uint64 `json:"events"`
}

// PreviewLog is what Compare reads; *eventlog.Log is one.
type PreviewLog interface {
	Fetch(ctx context.Context, topic string, partition int, offset int64, maxBytes int, maxWait time.Duration) (eventlog.Chunk, error)
	Bounds(ctx context.Context, topic string) ([]eventlog.Bounds, error)
}

// Compare groups every error event of the log, or of one project, by two
// algorithms, and says what changes. It changes nothing and reads up to what
// the log holds when it begins; progress is called now and then. Memory grows
// with the number of groups, not of events.
func Compare(ctx context.Context, log PreviewLog, from, to grouping.Version, project string, limit int, progress func(done, of int64)) (Preview, error) {
	c := newComparison(from, to)
	topic := eventlog.EventsTopic(schemas.Error)
	bounds, err := log.Bounds(ctx, topic)
	if err != nil {
		return Preview{}, fmt.Errorf("reading the bounds of %s: %w", topic, err)
	}
	var done, of int64
	for _, b := range bounds {
		of += b.End - b.Start
	}
	for _, b := range bounds {
		for next := b.Start; next < b.End; {
			chunk, err := log.Fetch(ctx, topic, b.Partition, next, 4<<20, time.Second)
			if err != nil {
				return Preview{}, fmt.Errorf("reading %s partition %d at offset %d: %w", topic, b.Partition, next, err)
			}
			for i := range chunk.Records {
				if r := &chunk.Records[i]; r.Offset < b.End && (project == "" || string(r.Key) == project) {
					c.add(r)
				}
			}
			done += min(chunk.Next, b.End) - next
			next = chunk.Next
			progress(done, of)
		}
	}
	return c.result(limit), nil
}

type pair struct {
	project  string
	from, to [16]byte
}

// comparison counts events by their groups under both algorithms.
type comparison struct {
	from, to        grouping.Version
	pairs           map[pair]uint64
	names           map[groupKey]string // by the old group; the new ones are looked up through pairs
	events, skipped uint64
}

func newComparison(from, to grouping.Version) *comparison {
	return &comparison{from: from, to: to, pairs: map[pair]uint64{}, names: map[groupKey]string{}}
}

func (c *comparison) add(r *eventlog.Record) {
	e, err := schemas.Open(r.Value)
	if err != nil || e.Type != schemas.Error || len(r.Key) == 0 {
		c.skipped++
		return
	}
	payload, err := grouping.ParsePayload(e.Data)
	if err != nil {
		c.skipped++
		return
	}
	project := string(r.Key)
	before, after := c.from.Group(project, payload), c.to.Group(project, payload)
	c.events++
	c.pairs[pair{project, before.Fingerprint, after.Fingerprint}]++
	c.names[groupKey{project, before.Fingerprint}] = before.Name
}

// result sums the pairs up from both sides.
func (c *comparison) result(limit int) Preview {
	before, after := map[groupKey][]side{}, map[groupKey][]side{}
	for p, n := range c.pairs {
		old, now := groupKey{p.project, p.from}, groupKey{p.project, p.to}
		before[old] = append(before[old], side{p.to, n, c.names[old]})
		after[now] = append(after[now], side{p.from, n, c.names[old]})
	}
	r := Preview{From: c.from.Number, To: c.to.Number, Events: c.events, Skipped: c.skipped, GroupsBefore: len(before), GroupsAfter: len(after)}
	moved := map[pair]bool{}
	r.Splits = changed(before, limit, func(key groupKey, s side) { moved[pair{key.project, key.fingerprint, s.id}] = true })
	r.Merges = changed(after, limit, func(key groupKey, s side) { moved[pair{key.project, s.id, key.fingerprint}] = true })
	for p := range moved {
		r.Moved += c.pairs[p]
	}
	r.Split, r.Merged = several(before), several(after)
	for old, sides := range before {
		if len(sides) == 1 && sides[0].id != old.fingerprint && len(after[groupKey{old.project, sides[0].id}]) == 1 {
			r.Renamed++
		}
	}
	return r
}

// side is what a group has in common with one of the other algorithm.
type side struct {
	id     [16]byte
	events uint64
	name   string
}

func several(groups map[groupKey][]side) (n int) {
	for _, sides := range groups {
		if len(sides) > 1 {
			n++
		}
	}
	return n
}

const mostParts = 20

// changed lists the largest groups with several sides, and calls minor for each side but the largest.
func changed(groups map[groupKey][]side, limit int, minor func(groupKey, side)) []PreviewGroup {
	out := []PreviewGroup{}
	for key, sides := range groups {
		if len(sides) < 2 {
			continue
		}
		slices.SortFunc(sides, func(a, b side) int {
			return cmp.Or(cmp.Compare(b.events, a.events), slices.Compare(a.id[:], b.id[:]))
		})
		g := PreviewGroup{ProjectID: key.project, Fingerprint: hex.EncodeToString(key.fingerprint[:]), Name: sides[0].name, MoreParts: max(0, len(sides)-mostParts)}
		for i, s := range sides {
			g.Events += s.events
			if i > 0 {
				minor(key, s)
			}
			if i < mostParts {
				g.Parts = append(g.Parts, PreviewPart{hex.EncodeToString(s.id[:]), s.events})
			}
		}
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b PreviewGroup) int {
		return cmp.Or(cmp.Compare(b.Events, a.Events), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return out[:min(len(out), limit)]
}
