package tables

import (
	"encoding/json"
	"fmt"
	"time"
)

// State says what is being done with a generation that is not the live one. It
// stands in the COMMENT of the generation's first table, which is where a wish
// and its progress live: there is no other store of it.
type State string

const (
	// Serving is the state of live tables and of old ones that are kept.
	Serving State = ""
	// Building tables are filled from the log beside the live ones.
	Building State = "building"
	// Swapping tables have been compared or accepted and are to become live.
	Swapping State = "swapping"
	// Differing tables were compared and are not equal to the live ones; they
	// wait until a human accepts or cancels them.
	Differing State = "differing"
	// Scratch tables are thrown away by whoever made them, or when Expires is over.
	Scratch State = "scratch"
	// Side tables were folded once, up to a moment, and are nobody's to change.
	Side State = "side"
)

// Hold asks projectors to leave the consumer groups of some generations for a
// moment, so that one of them can own all partitions.
type Hold string

const (
	// HoldNone holds nothing.
	HoldNone Hold = ""
	// HoldLive holds the live generation, HoldBuilding the one being built,
	// HoldAll both.
	HoldLive     Hold = "live"
	HoldBuilding Hold = "building"
	HoldAll      Hold = "all"
)

// Mark is the whole COMMENT of a physical table: the generation its rows are of
// and, on a generation's first table, what is being done with it.
type Mark struct {
	Generation
	State State `json:"state,omitempty"`
	Hold  Hold  `json:"hold,omitempty"`
	// Until ends the hold by ClickHouse's clock, in milliseconds since 1970:
	// whoever asked for it may have died.
	Until int64 `json:"until,omitempty"`
	// Since is when the state began, in milliseconds since 1970.
	Since int64 `json:"since,omitempty"`
	// Accept says that a difference from the live tables is wanted.
	Accept bool `json:"accept,omitempty"`
	// Note is for people: what differs, what a side table holds.
	Note string `json:"note,omitempty"`
}

// Text is the COMMENT.
func (m Mark) Text() string {
	text, err := json.Marshal(m)
	if err != nil { // strings, numbers and booleans always encode
		panic(err)
	}
	return string(text)
}

// Holds reports whether the mark holds what (HoldLive or HoldBuilding) at now,
// by ClickHouse's clock.
func (m Mark) Holds(what Hold, now time.Time) bool {
	return (m.Hold == what || m.Hold == HoldAll) && now.UnixMilli() < m.Until
}

// ParseMark reads a table's COMMENT. It fails when the table was not made by a
// projector.
func ParseMark(comment string) (Mark, error) {
	var m Mark
	if err := json.Unmarshal([]byte(comment), &m); err != nil {
		return m, fmt.Errorf("table comment %q holds no projection generation: %w", comment, err)
	}
	if m.Projection == "" || m.Generation.Generation < 1 {
		return m, fmt.Errorf("table comment %q names no projection and generation", comment)
	}
	return m, nil
}

// Remark renders the statement that changes a physical table's COMMENT.
func Remark(physical string, m Mark) string {
	return "ALTER TABLE " + quote(physical) + " MODIFY COMMENT " + literal(m.Text())
}

// Exchange renders the one statement that swaps pairs of physical tables. A
// crash in its midst leaves the later pairs as they were.
func Exchange(pairs [][2]string) string {
	text := "EXCHANGE TABLES "
	for i, p := range pairs {
		if i > 0 {
			text += ", "
		}
		text += quote(p[0]) + " AND " + quote(p[1])
	}
	return text
}

// Rename renders the statement that gives a physical table another name.
func Rename(from, to string) string { return "RENAME TABLE " + quote(from) + " TO " + quote(to) }

// Drop renders the statement that drops a physical table at once, if it is there.
func Drop(physical string) string { return "DROP TABLE IF EXISTS " + quote(physical) + " SYNC" }

// Clone renders the statement that makes a copy of a table as it is now, of hard
// links: it costs no space until one of the two is merged.
func Clone(from, to string) string {
	return "CREATE TABLE " + quote(to) + " CLONE AS " + quote(from)
}
