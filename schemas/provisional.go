package schemas

import (
	"errors"
	"math/big"
	"time"
)

var errProvisional = errors.New("schemas: not built yet")

type scanner struct{}

// Parse cuts body into events, the accepted and the refused. It returns a
// *BatchError when the body as a whole is refused, and then holds no events.
func (b *Batch) Parse(body []byte) error { return errProvisional }

// Open reads an event back. ...
func Open(raw []byte) (Envelope, error) { return Envelope{}, errProvisional }

// AppendExtra appends the members beside type, ts and data as one JSON object, "{}" when there are none.
func (e *Envelope) AppendExtra(dst []byte) []byte { return dst }

// Members walks the members of a JSON object in order, until fn returns false. name is decoded (valid during the call only), value is raw JSON.
func Members(object []byte, fn func(name, value []byte) bool) error { return errProvisional }

// Elements walks the elements of a JSON array, raw.
func Elements(array []byte, fn func(value []byte) bool) error { return errProvisional }

// Member finds one member's raw value; the first of the name.
func Member(object []byte, name string) (value []byte, ok bool) { return nil, false }

// String decodes a JSON string; ok is false when value is no JSON string.
func String(value []byte) (s string, ok bool) { return "", false }

// StringBytes is String without a copy when nothing is escaped: it then aliases value.
func StringBytes(value []byte) (s []byte, ok bool) { return nil, false }

// AppendString appends the decoded text of a JSON string.
func AppendString(dst, value []byte) ([]byte, bool) { return dst, false }

// Int reads a whole JSON number (200, 200.0, 2e2) in int64.
func Int(value []byte) (n int64, ok bool) { return 0, false }

// Float reads a JSON number in the range of float64.
func Float(value []byte) (f float64, ok bool) { return 0, false }

// Bool reads true or false.
func Bool(value []byte) (v, ok bool) { return false, false }

// IsNull reports whether value is null or empty.
func IsNull(value []byte) bool { return string(value) == "null" || len(value) == 0 }

// ParseTime reads RFC 3339 with Z or +00:00, up to nanoseconds, years 1970 to 2200.
func ParseTime(text []byte) (time.Time, error) { return time.Time{}, errProvisional }

// CurrencyCode upper-cases a three-letter currency given as raw JSON string.
func CurrencyCode(value []byte) (code string, ok bool) { return "", false }

// Decimal is an exact amount: a 256-bit integer in units of 10^-DecimalScale, ClickHouse Decimal(76, 38).
type Decimal struct {
	abs [4]uint64
	neg bool
}

const DecimalScale = 38
const DecimalPrecision = 76

// ParseDecimal reads a JSON number exactly.
func ParseDecimal(value []byte) (Decimal, error) { return Decimal{}, errProvisional }

// BigInt returns the amount in units of 10^-DecimalScale.
func (d Decimal) BigInt() *big.Int { return nil }

// Int256 returns the two's complement, least significant word first, as ClickHouse stores a Decimal256.
func (d Decimal) Int256() [4]uint64 { return d.abs }

// Add returns d+o; ok is false on overflow.
func (d Decimal) Add(o Decimal) (sum Decimal, ok bool) { return d, false }

// String writes the amount in plain digits with at least two fraction digits: "12.30".
func (d Decimal) String() string { return "" }
