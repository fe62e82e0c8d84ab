package costs

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// Totals add like whole numbers, or say that they cannot.
func TestTotalAddsExactly(t *testing.T) {
	limit := new(big.Int).Lsh(big.NewInt(1), 255)
	words := rapid.Custom(func(t *rapid.T) total {
		word := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, 1 << 63, 1<<63 - 1, ^uint64(0)}))
		return total{word.Draw(t, "0"), word.Draw(t, "1"), word.Draw(t, "2"), word.Draw(t, "3")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		want := new(big.Int).Add(a.big(), b.big())
		sum, fits := a.add(b)
		inRange := want.Cmp(limit) < 0 && want.Cmp(new(big.Int).Neg(limit)) >= 0
		if fits != inRange {
			t.Fatalf("%v + %v: fits is %v", a.big(), b.big(), fits)
		}
		if fits && sum.big().Cmp(want) != 0 {
			t.Fatalf("%v + %v = %v instead of %v", a.big(), b.big(), sum.big(), want)
		}
	})
}
