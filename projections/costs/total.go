package costs

import (
	"math/big"
	"math/bits"
)

// total is a sum of amounts as ClickHouse keeps a Decimal256: two's complement,
// least significant word first, in units of 10^-schemas.DecimalScale.
type total [4]uint64

// add returns t+o; fits is false when that takes more than 256 bits.
func (t total) add(o [4]uint64) (sum total, fits bool) {
	var carry uint64
	for i := range t {
		sum[i], carry = bits.Add64(t[i], o[i], carry)
	}
	// Two numbers of one sign whose sum has the other left the range.
	overflow := ^(t[3] ^ o[3]) & (t[3] ^ sum[3]) >> 63
	return sum, overflow == 0
}

// big is the total as a whole number of units.
func (t total) big() *big.Int {
	n := new(big.Int)
	for i := len(t) - 1; i >= 0; i-- {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(t[i]))
	}
	if t[3]>>63 == 1 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 256))
	}
	return n
}
