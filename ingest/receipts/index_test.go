package receipts

import (
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// step is a record of the one key, so many seconds after noon.
type step struct {
	second  int
	gateway string // "" is a receipt; with a * it claims anew
	origin  int    // of the first claim, in seconds after noon
}

func TestFold(t *testing.T) {
	const day = 24 * 60 * 60
	for name, c := range map[string]struct {
		steps    []step
		owner    int // index of the claim that is live at the end, -1: none
		takeover bool
		answer   int // index of the receipt that counts, -1: none
	}{
		"a claim":                            {[]step{{0, "a", 0}}, 0, false, -1},
		"the first claim counts":             {[]step{{0, "a", 0}, {1, "b", 1}}, 0, false, -1},
		"a claim holds to the end of lease":  {[]step{{0, "a", 0}, {44, "b", 44}}, 0, false, -1},
		"then another counts":                {[]step{{0, "a", 0}, {45, "b", 45}}, 1, true, -1},
		"a gateway's next claim counts":      {[]step{{0, "a", 0}, {1, "a", 1}}, 1, true, -1},
		"a receipt settles":                  {[]step{{0, "a", 0}, {1, "", 0}}, -1, false, 1},
		"a claim after it is nothing":        {[]step{{0, "a", 0}, {1, "", 0}, {2, "b", 2}}, -1, false, 1},
		"nor one long after":                 {[]step{{0, "a", 0}, {1, "", 0}, {day, "b", day}}, -1, false, 1},
		"the first receipt counts":           {[]step{{0, "a", 0}, {50, "b", 50}, {51, "", 0}, {52, "", 0}}, -1, false, 2},
		"a slow owner's receipt counts":      {[]step{{0, "a", 0}, {50, "b", 50}, {51, "", 0}}, -1, false, 2},
		"a receipt without its claim":        {[]step{{1, "", 0}}, -1, false, 0},
		"a receipt of another chain":         {[]step{{0, "a", 0}, {1, "", 7}}, 0, false, -1},
		"a day later the key is free":        {[]step{{0, "a", 0}, {1, "", 0}, {day + 1, "b", day + 1}}, 2, false, -1},
		"and can be settled again":           {[]step{{0, "a", 0}, {1, "", 0}, {day + 1, "b", day + 1}, {day + 2, "", day + 1}}, -1, false, 3},
		"a claim anew begins a chain":        {[]step{{0, "a", 0}, {45, "b", 45}, {46, "b*", 46}}, 2, false, -1},
		"whose receipt counts":               {[]step{{0, "a", 0}, {45, "b", 45}, {46, "b*", 46}, {47, "", 0}, {48, "", 46}}, -1, false, 4},
		"but not beside another's claim":     {[]step{{0, "a", 0}, {1, "b*", 1}}, 0, false, -1},
		"a claim that nobody ended for long": {[]step{{0, "a", 0}, {day, "b", day}}, 1, false, -1},
	} {
		t.Run(name, func(t *testing.T) {
			x, hash := newIndex(45*time.Second, 24*time.Hour), [16]byte{1}
			var last time.Time
			for i, s := range c.steps {
				last = noon.Add(time.Duration(s.second) * time.Second)
				r := record{receipt: s.gateway == "", gateway: strings.TrimSuffix(s.gateway, "*"), anew: strings.HasSuffix(s.gateway, "*"), origin: noon.Add(time.Duration(s.origin) * time.Second).UnixMilli()}
				x.apply(hash, last, place{offset: int64(i)}, r)
			}
			claim, open := x.claimed[hash]
			if open != (c.owner >= 0) || open && (claim.place.offset != int64(c.owner) || claim.takeover != c.takeover) {
				t.Errorf("open %v, claim %+v", open, claim)
			}
			at, settled := x.answerOf(hash, last)
			if settled != (c.answer >= 0) || settled && at.offset != int64(c.answer) {
				t.Errorf("settled %v at %+v", settled, at)
			}
		})
	}
}

// Sweeping never changes what a later record means.
func TestSweepForgetsOnlyWhatExpired(t *testing.T) {
	x := newIndex(45*time.Second, 24*time.Hour)
	x.apply([16]byte{1}, noon, place{}, record{receipt: true, origin: noon.UnixMilli()})
	x.apply([16]byte{2}, noon, place{}, record{gateway: "a", origin: noon.UnixMilli()})
	x.sweep(noon.Add(24*time.Hour + 30*time.Minute))
	if x.settled.len() != 1 || len(x.claimed) != 1 {
		t.Error("forgotten too early")
	}
	x.sweep(noon.Add(25*time.Hour + time.Second))
	if x.settled.len() != 0 || len(x.claimed) != 0 {
		t.Error("never forgotten")
	}
}
