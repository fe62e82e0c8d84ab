package schemas

import (
	"math"
	"strconv"
)

// number scans the number at i, which may be anything.
func (s *scanner) number(i int) int {
	end, ok := numberEnd(s.body, i)
	switch {
	case ok:
		return end
	case end == i:
		return s.fail(i, faultValue)
	default:
		return s.fail(end, faultNumber)
	}
}

// numberEnd follows the grammar of a JSON number from i on. When ok is false,
// end is the first byte that does not fit.
func numberEnd(b []byte, i int) (end int, ok bool) {
	start := i
	if i < len(b) && b[i] == '-' {
		i++
	}
	first := i
	if i = digitsEnd(b, i); i == first {
		return i, false
	}
	if b[first] == '0' && i > first+1 {
		return first + 1, false // a leading zero
	}
	if i < len(b) && b[i] == '.' {
		first = i + 1
		if i = digitsEnd(b, first); i == first {
			return i, false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		first = i
		if i = digitsEnd(b, first); i == first {
			return i, false
		}
	}
	return i, i > start
}

func digitsEnd(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// isNumber reports whether c begins a number, in well-formed JSON.
func isNumber(c byte) bool { return c == '-' || c-'0' <= 9 }

// numeral is a number taken apart without rounding: its value is
// ±0.d1d2…dn × 10^point, d1 and dn being no zeros. Zero has no digits.
type numeral struct {
	negative bool
	digits   []byte // d1 to dn, possibly with a decimal point among them
	count    int    // n
	point    int    // saturated far outside any range used here
}

// maxExponent is where exponents saturate. No body is long enough for its
// digits to bring such an exponent back into a field's range.
const maxExponent = 1 << 40

// takeApart reads a JSON number, nothing before or after it.
func takeApart(b []byte) (n numeral, ok bool) {
	if end, ok := numberEnd(b, 0); !ok || end != len(b) {
		return n, false
	}
	if b[0] == '-' {
		n.negative, b = true, b[1:]
	}
	b, exponent := cutExponent(b)
	whole := digitsEnd(b, 0)
	first, last := 0, len(b)
	for first < last && (b[first] == '0' || b[first] == '.') {
		first++
	}
	for last > first && (b[last-1] == '0' || b[last-1] == '.') {
		last--
	}
	n.digits = b[first:last]
	switch {
	case first == last: // zero
	case first < whole:
		n.point = whole - first + exponent
		n.count = last - first
		if last > whole {
			n.count-- // the decimal point
		}
	default:
		n.point = whole + 1 - first + exponent
		n.count = last - first
	}
	return n, true
}

// cutExponent separates the exponent from a well-formed number.
func cutExponent(b []byte) (mantissa []byte, exponent int) {
	at := 0
	for at < len(b) && b[at]|0x20 != 'e' {
		at++
	}
	if at == len(b) {
		return b, 0
	}
	sign := 1
	for _, c := range b[at+1:] {
		switch {
		case c == '-':
			sign = -1
		case c != '+' && exponent < maxExponent:
			exponent = exponent*10 + int(c-'0')
		}
	}
	return b[:at], sign * min(exponent, maxExponent)
}

// whole reads n as an int64. It is no integer when it has a fraction;
// inRange is false when it is one, but too large.
func (n *numeral) whole() (v int64, integer, inRange bool) {
	if n.count > n.point && n.count > 0 {
		return 0, false, false
	}
	if n.point > 19 {
		return 0, true, false
	}
	var u uint64 // 19 digits always fit
	for _, c := range n.digits {
		if c != '.' {
			u = u*10 + uint64(c-'0')
		}
	}
	for range n.point - n.count {
		u *= 10
	}
	switch {
	case !n.negative && u <= math.MaxInt64:
		return int64(u), true, true
	case n.negative && u <= -math.MinInt64:
		return -int64(u), true, true
	default:
		return 0, true, false
	}
}

// checkInteger judges a value for an Integer field.
func checkInteger(value []byte, lowest, highest int64) (integer, inRange bool) {
	if !isNumber(value[0]) {
		return false, true
	}
	v, integer, inRange := readWhole(value)
	return integer, inRange && lowest <= v && v <= highest
}

// readWhole reads a JSON number as an int64; plain digits take the short way.
func readWhole(value []byte) (v int64, integer, inRange bool) {
	if len(value) < 19 && value[0] != '0' && digitsEnd(value, 0) == len(value) {
		for _, c := range value {
			v = v*10 + int64(c-'0')
		}
		return v, true, true
	}
	n, ok := takeApart(value)
	if !ok {
		return 0, false, false
	}
	return n.whole()
}

// fitsFloat reports whether a well-formed number rounds to a finite float64.
func fitsFloat(value []byte) bool {
	const surelyFinite = 300 // characters, when there is no exponent
	if len(value) < surelyFinite && !hasExponent(value) {
		return true
	}
	n, _ := takeApart(value)
	if n.point != 309 { // 1.8e308 is the edge
		return n.point < 309
	}
	_, err := strconv.ParseFloat(string(value), 64)
	return err == nil
}

func hasExponent(number []byte) bool {
	for _, c := range number {
		if c|0x20 == 'e' {
			return true
		}
	}
	return false
}
