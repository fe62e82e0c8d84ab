package schemas

import (
	"encoding/binary"
	"errors"
	"math/big"
	"math/bits"
)

// The bounds of a Decimal.
const (
	// DecimalScale is the number of fraction digits that are kept: a Decimal
	// counts units of 10^-38. It is far above the nine that money needs, so that
	// an amount that a client computed in floating point (0.30000000000000004,
	// 1.2300000000000001e-05) is taken exactly as it was sent.
	DecimalScale = 38
	// DecimalPrecision is the number of digits that a sum may have, so that the
	// column is ClickHouse's Decimal(76, 38).
	DecimalPrecision = 76
	// MaxAmountDigits is how many digits one amount may have before the point.
	// Eighteen more fit a sum, so no sum over a log can overflow.
	MaxAmountDigits = 20
)

// Decimal is an exact amount: a whole number of units of 10^-DecimalScale,
// never a float. The zero value is 0; equal amounts are equal with ==.
type Decimal struct {
	abs      [4]uint64 // absolute value, least significant word first
	negative bool      // false for 0
}

// Errors of ParseDecimal.
var (
	ErrDecimalMalformed = errors.New("amount is not a JSON number")
	ErrDecimalRange     = errors.New("amount has more than 20 digits before or 38 after the decimal point")
)

// ParseDecimal reads a JSON number, with or without exponent, exactly. A
// number that would have to be rounded is ErrDecimalRange.
func ParseDecimal(value []byte) (Decimal, error) {
	n, ok := takeApart(value)
	if !ok {
		return Decimal{}, ErrDecimalMalformed
	}
	if !n.fitsDecimal() {
		return Decimal{}, ErrDecimalRange
	}
	return Decimal{abs: n.units(), negative: n.negative && n.count > 0}, nil
}

// units returns the number in units of 10^-DecimalScale. It takes nineteen
// digits at a time, as many as fit a word.
func (n *numeral) units() (abs [4]uint64) {
	chunk, size := uint64(0), 0
	for _, c := range n.digits {
		if c == '.' {
			continue
		}
		chunk = chunk*10 + uint64(c-'0')
		if size++; size == wordDigits {
			abs = timesPlus(abs, powersOfTen[size], chunk)
			chunk, size = 0, 0
		}
	}
	abs = timesPlus(abs, powersOfTen[size], chunk)
	if n.count == 0 {
		return abs
	}
	for zeros := DecimalScale + n.point - n.count; zeros > 0; zeros -= wordDigits {
		abs = timesPlus(abs, powersOfTen[min(zeros, wordDigits)], 0)
	}
	return abs
}

// wordDigits is the number of decimal digits that always fit a uint64.
const wordDigits = 19

// powersOfTen are 10^0 to 10^19.
var powersOfTen = func() (powers [wordDigits + 1]uint64) {
	powers[0] = 1
	for i := 1; i < len(powers); i++ {
		powers[i] = powers[i-1] * 10
	}
	return powers
}()

// fitsDecimal reports whether a Decimal can hold a well-formed number.
func fitsDecimal(value []byte) bool {
	if len(value) <= MaxAmountDigits && !hasExponent(value) {
		return true
	}
	n, ok := takeApart(value)
	return ok && n.fitsDecimal()
}

func (n *numeral) fitsDecimal() bool {
	return n.count == 0 || n.point <= MaxAmountDigits && n.count-n.point <= DecimalScale
}

// timesPlus returns a*factor + term, which must fit.
func timesPlus(a [4]uint64, factor, term uint64) [4]uint64 {
	for i, word := range a {
		high, low := bits.Mul64(word, factor)
		sum, carry := bits.Add64(low, term, 0)
		a[i], term = sum, high+carry
	}
	return a
}

// Add returns d + o. ok is false when the sum has more than 76 digits, which
// takes 10^18 amounts.
func (d Decimal) Add(o Decimal) (sum Decimal, ok bool) {
	a, b := d.BigInt(), o.BigInt()
	return decimalOf(a.Add(a, b))
}

// decimalOf takes units back from a big integer.
func decimalOf(units *big.Int) (d Decimal, ok bool) {
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(DecimalPrecision), nil)
	if units.CmpAbs(limit) >= 0 {
		return Decimal{}, false
	}
	var b [32]byte
	units.FillBytes(b[:])
	for i := range d.abs {
		d.abs[i] = binary.BigEndian.Uint64(b[24-8*i:])
	}
	d.negative = units.Sign() < 0
	return d, true
}

// BigInt returns the amount in units of 10^-DecimalScale.
func (d Decimal) BigInt() *big.Int {
	var b [32]byte
	for i, word := range d.abs {
		binary.BigEndian.PutUint64(b[24-8*i:], word)
	}
	n := new(big.Int).SetBytes(b[:])
	if d.negative {
		n.Neg(n)
	}
	return n
}

// Int256 returns the units in two's complement, least significant word first,
// as ClickHouse stores a Decimal(76, 38).
func (d Decimal) Int256() [4]uint64 {
	if !d.negative {
		return d.abs
	}
	var out [4]uint64
	carry := uint64(1)
	for i, word := range d.abs {
		out[i], carry = bits.Add64(^word, 0, carry)
	}
	return out
}

// String writes the amount in plain digits, exactly, with at least two
// fraction digits: "12.30", "-0.00000001".
func (d Decimal) String() string { return string(d.Append(nil)) }

// Append appends what String returns.
func (d Decimal) Append(dst []byte) []byte {
	var digits [DecimalPrecision + 2]byte // 2^256 has 78 digits
	units := d.abs
	for i := len(digits) - 1; i >= 0; i-- {
		var rest uint64
		units, rest = divideByTen(units)
		digits[i] = byte('0' + rest)
	}
	point := len(digits) - DecimalScale
	first, last := 0, len(digits)
	for first < point-1 && digits[first] == '0' {
		first++
	}
	for last > point+2 && digits[last-1] == '0' {
		last--
	}
	if d.negative {
		dst = append(dst, '-')
	}
	dst = append(dst, digits[first:point]...)
	dst = append(dst, '.')
	return append(dst, digits[point:last]...)
}

func divideByTen(a [4]uint64) (quotient [4]uint64, rest uint64) {
	for i := len(a) - 1; i >= 0; i-- {
		quotient[i], rest = bits.Div64(rest, a[i], 10)
	}
	return quotient, rest
}
