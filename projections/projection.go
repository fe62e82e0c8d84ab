package projections

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"weir/eventlog"
	"weir/readmodel/tables"
)

// Projection is a named, versioned fold of topics into tables.
type Projection struct {
	// Name is part of the consumer group and of the insert tokens: lower-case
	// letters only.
	Name string
	// Version changes whenever the same log would give other rows.
	Version int
	// Topics are the topics that are folded.
	Topics []string
	// Tables are filled by this projection alone. (The quarantine table, which
	// all share, is not among them.)
	Tables []tables.Table
	// Measures say how the tables' rows count the records they were folded from,
	// for whoever audits them. They take no part in folding.
	Measures []Measure
	// New makes a Fold. Each partition has its own.
	New func() Fold
}

// Fold turns records into rows. It is used by one goroutine at a time and must
// be a pure function of the records since the last Reset.
type Fold interface {
	// Add folds one record. An error means that this record cannot be folded:
	// it goes to quarantine with the error as its reason, and nothing of it may
	// be left in the rows. A panic has the same effect. The record's bytes stay
	// unchanged until Reset, so rows may point into them.
	Add(r *eventlog.Record) error
	// Blocks are the rows of all records added since Reset, one Block per table
	// that has any. They are valid until Reset. It is called once, after the
	// last Add.
	Blocks() []Block
	// Reset forgets everything but buffers.
	Reset()
}

// Block is the rows of one insert, by column.
type Block struct {
	Table tables.Table
	// Columns hold one column per column of Table, in its order, each with Rows
	// elements, in one of the forms that native.Column takes: a *native.Strings
	// or *native.Fixed, []string, []time.Time, [][]any for tuples, and so on.
	Columns []any
	Rows    int
}

// Group is the consumer group of one generation of a projection.
func Group(projection string, generation int) string {
	return groupPrefix(projection) + strconv.Itoa(generation)
}

func groupPrefix(projection string) string { return "weir." + projection + ".g" }

// generationOf is the inverse of Group.
func generationOf(projection, group string) (int, bool) {
	text, ok := strings.CutPrefix(group, groupPrefix(projection))
	n, err := strconv.Atoi(text)
	return n, ok && err == nil && n > 0
}

// token names one insert. Equal tokens mean equal rows; ClickHouse drops the
// second.
func token(projection string, generation int, tp eventlog.TopicPartition, from, to int64, table string) string {
	return fmt.Sprintf("%s:%d:%s:%d:[%d,%d):%s", projection, generation, tp.Topic, tp.Partition, from, to, table)
}

// Text is b as a string without a copy. b must not change afterwards: use it for
// bytes of a record, which live as long as the string does.
func Text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Arena holds bytes made by a fold, such as event ids, so that a row's string
// costs no allocation of its own. The strings are valid until Reset.
type Arena struct{ buf []byte }

// Add copies b and returns it as a string.
func (a *Arena) Add(b []byte) string {
	start := len(a.buf)
	a.buf = append(a.buf, b...)
	return Text(a.buf[start:])
}

// Grow appends with a function in the style of strconv.Append and returns what
// it appended.
func (a *Arena) Grow(appendTo func([]byte) []byte) string {
	start := len(a.buf)
	a.buf = appendTo(a.buf)
	return Text(a.buf[start:])
}

// Reset makes the space free for other bytes.
func (a *Arena) Reset() { a.buf = a.buf[:0] }
