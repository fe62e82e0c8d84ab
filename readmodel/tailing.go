package readmodel

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/eventlog"
)

// tailState is what a tail has shown: of each partition of the log, everything
// before next. It is the id of every server-sent event, so a client that comes
// back misses nothing and gets nothing twice, whatever order partitions are
// folded in and whichever generation of the table serves by then.
//
// since bounds the rows looked at: events received before it are not looked
// for any more.
type tailState struct {
	since time.Time
	next  map[place]int64
}

// place is one partition of the log, by event type.
type place struct {
	kind      string
	partition uint32
}

// String is the id of a server-sent event: since in milliseconds, and log positions.
func (s tailState) String() string {
	positions := make(eventlog.Positions, 0, len(s.next))
	for p, next := range s.next {
		positions = append(positions, eventlog.Position{Topic: topicOf(p.kind), Partition: int(p.partition), Next: next})
	}
	slices.SortFunc(positions, func(a, b eventlog.Position) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return strconv.FormatInt(s.since.UnixMilli(), 10) + ";" + positions.String()
}

const eventsTopics = "weir.events."

func topicOf(kind string) string { return eventsTopics + kind }

func parseTailState(s string) (tailState, error) {
	millis, rest, ok := strings.Cut(s, ";")
	n, err := strconv.ParseInt(millis, 10, 64)
	positions, err2 := eventlog.ParsePositions(rest)
	if !ok || errors.Join(err, err2) != nil || n < 0 || n > maxMillis {
		return tailState{}, errors.New("not an id of this stream: send the last one received")
	}
	state := tailState{time.UnixMilli(n).UTC(), map[place]int64{}}
	for _, p := range positions {
		kind, ok := strings.CutPrefix(p.Topic, eventsTopics)
		if !ok {
			return tailState{}, fmt.Errorf("not an id of this stream: %s is no event type", short(p.Topic))
		}
		state.next[place{kind, uint32(p.Partition)}] = p.Next
	}
	return state, nil
}

const maxMillis = 7258118400000 // the year 2200

// TailStartQuery finds where the log's partitions have got to in the table,
// looking at events received from Since on.
type TailStartQuery struct {
	Project string
	Since   time.Time
}

func (q TailStartQuery) statement() Statement {
	var b builder
	b.where("project_id = " + b.text(q.Project))
	b.where("received_at >= " + b.moment(q.Since))
	return b.statement("SELECT toString(type) AS kind, `partition`, max(`offset`) + 1 AS next FROM events WHERE", b.conditions(), "GROUP BY type, `partition`")
}

// Bounds of one look of a tail.
const (
	tailRows         = 500
	tailRowsPerPlace = 100 // so that one busy partition does not hide the others
)

// TailQuery reads the events that a tail has not shown yet, in log order of
// each partition. The rows are a prefix of what is new in every partition.
type TailQuery struct {
	EventsFilter
	state tailState
}

func (q TailQuery) statement() Statement {
	var b builder
	q.conditions(&b)
	b.where("received_at >= " + b.moment(q.state.since))
	if len(q.state.next) > 0 {
		b.where("`offset` >= " + q.shown(&b))
	}
	inner := "SELECT lower(hex(event_id)) AS id, toString(type) AS kind, toUnixTimestamp64Nano(ts) AS at, " +
		"toUnixTimestamp64Milli(received_at) AS received, data, `partition`, `offset` FROM events WHERE " + b.conditions() +
		" ORDER BY `offset`, type, `partition` LIMIT " + b.arg("UInt32", tailRowsPerPlace) + " BY type, `partition` LIMIT " + b.arg("UInt32", tailRows)
	return b.statement(b.bounded("id, kind, at, received, data, `partition`, `offset`", "length(data)", inner, "`offset`, kind, `partition`"))
}

// shown is the first offset of a row's partition that has not been shown; 0 for a partition not seen before.
func (q TailQuery) shown(b *builder) string {
	var keys []string
	for p := range q.state.next {
		keys = append(keys, fmt.Sprintf("%s:%d", p.kind, p.partition))
	}
	slices.Sort(keys)
	next := make([]int64, len(keys))
	for i, key := range keys {
		kind, partition, _ := strings.Cut(key, ":")
		n, _ := strconv.ParseUint(partition, 10, 32)
		next[i] = q.state.next[place{kind, uint32(n)}]
	}
	return "transform(concat(toString(type), ':', toString(`partition`)), " + b.arg("Array(String)", keys) + ", " + b.arg("Array(Int64)", next) + ", toInt64(0))"
}

// tailRow is one event with its place in the log.
type tailRow struct {
	event
	place  place
	offset int64
	shown  int64 // the order rows are sent in: received time, never falling within a partition
}

type tailBatch struct {
	rows    []tailRow
	matched uint64
}

func (t *tailBatch) scan(rows driver.Rows) error {
	var r tailRow
	if err := rows.Scan(&r.id, &r.kind, &r.at, &r.received, &r.data, &r.place.partition, &r.offset, &t.matched); err != nil {
		return err
	}
	r.place.kind = r.kind
	t.rows = append(t.rows, r)
	return nil
}

// more says whether rows were left for the next look.
func (t *tailBatch) more() bool {
	return len(t.rows) > 0 && (t.matched > uint64(len(t.rows)) || t.matched >= tailRowsPerPlace)
}

// order puts rows by the time they were received, but never before an earlier
// row of their partition: otherwise an id could step over a row not yet sent.
func (t *tailBatch) order() {
	latest := map[place]int64{}
	for i := range t.rows {
		r := &t.rows[i]
		latest[r.place] = max(latest[r.place], r.received)
		r.shown = latest[r.place]
	}
	slices.SortStableFunc(t.rows, func(a, b tailRow) int { return cmp.Compare(a.shown, b.shown) })
}
