package releases

import "testing"

// The order of semver.org, section 11, and what is beside it.
func TestKeysAreInOrder(t *testing.T) {
	order := []string{
		"0.0.0", "0.9.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.2", "1.0.0-alpha.10", "1.0.0-alpha.beta", "1.0.0-alpha-",
		"1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "v1.0.0", "1.0.1", "1.2.0", "1.9.0", "v1.10", "2.0.0", "10.0.0",
		"10.0.100000000000000000000000",
	}
	for i, a := range order {
		if Key(a) == "" {
			t.Errorf("%s is no version", a)
		}
		for j, b := range order {
			if (Key(a) < Key(b)) != (i < j) {
				t.Errorf("%s and %s: keys %q and %q are in the wrong order", a, b, Key(a), Key(b))
			}
		}
	}
	for _, same := range [][2]string{{"1.2.3", "v1.2.3"}, {"1.2", "1.2.0"}, {"1.2.3+a", "1.2.3+b"}, {"1.0.0-a+1", "1.0.0-a"}} {
		if Key(same[0]) != Key(same[1]) {
			t.Errorf("%s and %s differ", same[0], same[1])
		}
	}
}

func TestNoVersions(t *testing.T) {
	for _, s := range []string{"", "v", "1", "20261121", "deadbeef", "1.2.3.4", "1.02.3", "2026.01.02", "a.b.c", "1.2.x", "1.2.3-", "1.2.3-a..b", "1.2.3-01", "1.2.3-ä", "1..2", "-1.2.3", " 1.2.3", "release-1.2.3", "vv1.2.3"} {
		if k := Key(s); k != "" {
			t.Errorf("%q has the key %q", s, k)
		}
	}
}
