package schemas

import (
	"errors"
	"testing"
)

func TestDecimals(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"0", "0.00"},
		{"-0", "0.00"},
		{"-0.000", "0.00"},
		{"0e999999999999999999999", "0.00"},
		{"12.3", "12.30"},
		{"12.30", "12.30"},
		{"-12.345", "-12.345"},
		{"0.000000001", "0.000000001"},
		{"1e3", "1000.00"},
		{"1.5E-7", "0.00000015"},
		{"1.2300000000000001e-05", "0.000012300000000000001"},
		{"0.30000000000000004", "0.30000000000000004"},
		{"99999999999999999999.99999999999999999999999999999999999999", "99999999999999999999.99999999999999999999999999999999999999"},
		{"100000000000000000000e-1", "10000000000000000000.00"},
		{"0.00000000000000000000000000000000000001", "0.00000000000000000000000000000000000001"},
	} {
		d, err := ParseDecimal([]byte(c.text))
		if err != nil || d.String() != c.want {
			t.Errorf("%s: %s, %v, want %s", c.text, d, err, c.want)
		}
	}
	for _, text := range []string{"100000000000000000000", "1e20", "-1e20", "1e-39", "1.000000000000000000000000000000000000001", "1e99999999999999999999", "1e-99999999999999999999"} {
		if d, err := ParseDecimal([]byte(text)); !errors.Is(err, ErrDecimalRange) {
			t.Errorf("%s: %s, %v, want out of range", text, d, err)
		}
	}
	for _, text := range []string{"", "-", "1.", ".5", "01", "+1", "1e", "0x1", `"1"`, "1 ", " 1", "NaN", "null"} {
		if d, err := ParseDecimal([]byte(text)); !errors.Is(err, ErrDecimalMalformed) {
			t.Errorf("%q: %s, %v, want malformed", text, d, err)
		}
	}
	if a, b := mustDecimal(t, "1.0"), mustDecimal(t, "10e-1"); a != b {
		t.Error("equal amounts are not ==")
	}
}

func mustDecimal(t *testing.T, text string) Decimal {
	t.Helper()
	d, err := ParseDecimal([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

func TestDecimalWords(t *testing.T) {
	one := mustDecimal(t, "1e-38")
	if got := one.Int256(); got != [4]uint64{1, 0, 0, 0} {
		t.Errorf("one unit is %x", got)
	}
	const all = ^uint64(0)
	if got := mustDecimal(t, "-1e-38").Int256(); got != [4]uint64{all, all, all, all} {
		t.Errorf("minus one unit is %x", got)
	}
	if got := mustDecimal(t, "-0").Int256(); got != [4]uint64{} {
		t.Errorf("zero is %x", got)
	}
	// 10^38 = 0x4b3b4ca85a86c47a_098a224000000000
	if got := mustDecimal(t, "1").Int256(); got != [4]uint64{0x098a224000000000, 0x4b3b4ca85a86c47a, 0, 0} {
		t.Errorf("1 is %x", got)
	}
}

func TestDecimalSums(t *testing.T) {
	sum := mustDecimal(t, "0.1")
	for range 9 {
		sum, _ = sum.Add(mustDecimal(t, "0.1"))
	}
	if sum.String() != "1.00" {
		t.Errorf("ten times 0.1 is %s", sum)
	}
	if none, ok := sum.Add(mustDecimal(t, "-1")); !ok || none != (Decimal{}) {
		t.Errorf("1 - 1 is %s", none)
	}
	most := mustDecimal(t, "99999999999999999999")
	for range 59 { // doubled 59 times it is still below 10^38
		var ok bool
		if most, ok = most.Add(most); !ok {
			t.Fatal("a sum that fits is refused")
		}
	}
	if sum, ok := most.Add(most); ok {
		t.Errorf("a sum of more than 76 digits is not refused: %s", sum)
	}
}
