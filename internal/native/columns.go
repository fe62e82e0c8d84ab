package native

import (
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
)

// A column of text is kept in pages, so that it never moves while it grows. Pages are shared by
// all columns of the process: what one block needed, the next may be of another partition.
const (
	pageBytes = 256 << 10
	// firstBytes is the page a column begins with and keeps: enough for a block of live events.
	firstBytes = 8 << 10
)

var pages = sync.Pool{New: func() any { p := make([]byte, 0, pageBytes); return &p }}

// Strings is a column of String, as it goes over the wire: each value's length and its bytes.
// The zero value is empty. It must not be copied.
type Strings struct {
	first []byte
	full  [][]byte  // pages before the last
	last  []byte    // where the next value goes
	taken []*[]byte // what the pool gets back
	rows  int
}

// Append adds one value.
func (s *Strings) Append(v []byte) {
	if len(v)+binary.MaxVarintLen64 > cap(s.last)-len(s.last) {
		s.turn(len(v) + binary.MaxVarintLen64)
	}
	s.last = binary.AppendUvarint(s.last, uint64(len(v)))
	s.last = append(s.last, v...)
	s.rows++
}

// AppendString adds one value.
func (s *Strings) AppendString(v string) { s.Append(unsafe.Slice(unsafe.StringData(v), len(v))) } //nolint:gosec // only read

// turn begins a page with room for size bytes.
func (s *Strings) turn(size int) {
	if s.last != nil {
		s.full = append(s.full, s.last)
	}
	switch {
	case s.first == nil && size <= firstBytes:
		s.first = make([]byte, 0, firstBytes)
		s.last = s.first
	case size > pageBytes:
		s.last = make([]byte, 0, size)
	default:
		p, _ := pages.Get().(*[]byte)
		s.taken = append(s.taken, p)
		s.last = (*p)[:0]
	}
}

// parts are all pages, in order.
func (s *Strings) parts() [][]byte { return append(s.full[:len(s.full):len(s.full)], s.last) }

// Rows is how many values there are.
func (s *Strings) Rows() int { return s.rows }

// Values are copies of all values, for tests.
func (s *Strings) Values() []string {
	all := make([]string, 0, s.rows)
	for _, rest := range s.parts() {
		for len(rest) > 0 {
			n, used := binary.Uvarint(rest)
			all = append(all, string(rest[used:used+int(n)]))
			rest = rest[used+int(n):]
		}
	}
	return all
}

// Reset forgets all values and gives the memory back for others.
func (s *Strings) Reset() {
	for _, p := range s.taken {
		pages.Put(p)
	}
	clear(s.taken)
	clear(s.full)
	s.taken, s.full = s.taken[:0], s.full[:0]
	s.last, s.rows = s.first, 0
}

// Fixed is a column of FixedString(16): ids and fingerprints. The zero value is empty.
type Fixed struct{ buf []byte }

// FixedSize is the bytes of a value of [Fixed].
const FixedSize = 16

// Append adds one value.
func (f *Fixed) Append(v [FixedSize]byte) { f.buf = append(f.buf, v[:]...) }

// Rows is how many values there are.
func (f *Fixed) Rows() int { return len(f.buf) / FixedSize }

// Values are copies of all values, for tests.
func (f *Fixed) Values() []string {
	all := make([]string, f.Rows())
	for i := range all {
		all[i] = string(f.buf[i*FixedSize : (i+1)*FixedSize])
	}
	return all
}

// Reset forgets all values and keeps the memory.
func (f *Fixed) Reset() { f.buf = f.buf[:0] }

// Nanos is a column of DateTime64(9): nanoseconds since 1970, in the years a time.Time counts them in.
type Nanos []int64

// Append adds one time.
func (n *Nanos) Append(t time.Time) { *n = append(*n, t.UnixNano()) }

// Values are all times, for tests.
func (n Nanos) Values() []time.Time {
	all := make([]time.Time, len(n))
	for i := range n {
		all[i] = time.Unix(0, n[i]).UTC()
	}
	return all
}

// Millis is a column of DateTime64(3): milliseconds since 1970.
type Millis []int64

// Append adds one time.
func (m *Millis) Append(t time.Time) { *m = append(*m, t.UnixMilli()) }

// Values are all times, for tests.
func (m Millis) Values() []time.Time {
	all := make([]time.Time, len(m))
	for i := range m {
		all[i] = time.UnixMilli(m[i]).UTC()
	}
	return all
}

// number is what a column of fixed width is given as: the bytes in memory are those on the wire,
// on every processor that Go and ClickHouse run on together.
type number interface {
	int8 | int32 | uint32 | int64 | uint64 | float64
}

func raw[T number](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(*new(T)))) //nolint:gosec // a view of numbers as bytes
}

// widths are the types whose values are numbers of so many bytes.
var widths = map[string]int{
	"Int8": 1, "UInt8": 1, "Enum8": 1,
	"Int32": 4, "UInt32": 4,
	"Int64": 8, "UInt64": 8, "Float64": 8,
}

// Column is one column of a block.
type Column struct {
	Name string
	Type string // as in the table's definition
	// Values are a *[Strings], a *[Fixed], [Nanos], [Millis], a slice of numbers of the type's width, or any slice that clickhouse-go takes for the type; tuples as [][]any.
	Values any
}

// encoded is a column ready to be sent.
type encoded struct {
	rows  int
	parts [][]byte
}

func (c Column) encode() (encoded, error) {
	switch v := c.Values.(type) {
	case *Strings:
		if c.Type != "String" {
			return encoded{}, c.unfit()
		}
		return encoded{v.rows, v.parts()}, nil
	case *Fixed:
		if c.Type != "FixedString(16)" {
			return encoded{}, c.unfit()
		}
		return encoded{v.Rows(), [][]byte{v.buf}}, nil
	case Nanos:
		return ticks(c, v, "DateTime64(9")
	case Millis:
		return ticks(c, v, "DateTime64(3")
	case []int8:
		return numbers(c, v)
	case []int32:
		return numbers(c, v)
	case []uint32:
		return numbers(c, v)
	case []int64:
		return numbers(c, v)
	case []uint64:
		return numbers(c, v)
	case []float64:
		return numbers(c, v)
	default:
		return c.general()
	}
}

func (c Column) unfit() error {
	return fmt.Errorf("column %s: %T cannot be a column of %s", c.Name, c.Values, c.Type)
}

func numbers[T number](c Column, v []T) (encoded, error) {
	if widths[plainType(c.Type)] != int(unsafe.Sizeof(*new(T))) {
		return encoded{}, c.unfit()
	}
	return encoded{len(v), [][]byte{raw(v)}}, nil
}

func ticks[T ~[]int64](c Column, v T, of string) (encoded, error) {
	if !strings.Contains(c.Type, of) {
		return encoded{}, c.unfit()
	}
	return encoded{len(v), [][]byte{raw([]int64(v))}}, nil
}

// plainType is the name of a type without parameters; of a SimpleAggregateFunction, that of what it keeps.
func plainType(t string) string {
	if inner, ok := strings.CutPrefix(t, "SimpleAggregateFunction("); ok {
		_, t, _ = strings.Cut(strings.TrimSuffix(inner, ")"), ", ")
	}
	name, _, _ := strings.Cut(t, "(")
	return name
}

// general encodes with clickhouse-go's columns.
func (c Column) general() (encoded, error) {
	to, err := column.Type(c.Type).Column(c.Name, &column.ServerContext{})
	if err != nil {
		return encoded{}, fmt.Errorf("column %s: %w", c.Name, err)
	}
	if tuples, ok := c.Values.([][]any); ok {
		for _, tuple := range tuples {
			if err := to.AppendRow(tuple); err != nil {
				return encoded{}, fmt.Errorf("column %s: %w", c.Name, err)
			}
		}
	} else if _, err := to.Append(c.Values); err != nil {
		return encoded{}, fmt.Errorf("column %s: %w", c.Name, err)
	}
	var b proto.Buffer
	if to.Rows() > 0 { // no prefix and no values otherwise
		if prefixed, ok := to.(column.CustomSerialization); ok {
			if err := prefixed.WriteStatePrefix(&b); err != nil {
				return encoded{}, fmt.Errorf("column %s: %w", c.Name, err)
			}
		}
		to.Encode(&b)
	}
	return encoded{to.Rows(), [][]byte{b.Buf}}, nil
}

// block is columns as one data packet: what is between the columns is in small parts of its own.
func block(columns []Column, rows int) (net.Buffers, error) {
	var head proto.Buffer
	proto.ClientCodeData.Encode(&head)
	proto.ClientData{}.EncodeAware(&head, revision)
	proto.Block{Info: proto.BlockInfo{BucketNum: -1}, Columns: len(columns), Rows: rows}.EncodeAware(&head, revision)
	parts := net.Buffers{head.Buf}
	for _, c := range columns {
		e, err := c.encode()
		if err != nil {
			return nil, err
		}
		if e.rows != rows {
			return nil, fmt.Errorf("column %s has %d rows instead of %d", c.Name, e.rows, rows)
		}
		var name proto.Buffer
		name.PutString(c.Name)
		name.PutString(c.Type)
		parts = append(append(parts, name.Buf), e.parts...)
	}
	return append(parts, endOfData()), nil
}

// endOfData is a block without columns.
func endOfData() []byte {
	var b proto.Buffer
	proto.ClientCodeData.Encode(&b)
	proto.ClientData{}.EncodeAware(&b, revision)
	proto.Block{Info: proto.BlockInfo{BucketNum: -1}}.EncodeAware(&b, revision)
	return b.Buf
}
