package integration

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// The scenarios are worth what the ledger sees: every kind of difference must be one.
func TestLedgerSeesEveryDifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	made := func(name string, f fate) *batch {
		return &batch{name: name, fate: f, events: []event{newEvent(rng, name+"-good", "log"), newSpoiled(rng, name+"-bad")}}
	}
	l := &ledger{}
	for _, b := range []*batch{made("kept", answered), made("lost", unknown), made("refused", refused)} {
		l.enter(b)
	}
	for _, c := range []struct {
		name string
		seen map[string]int
		says string // "" when all is well
	}{
		{"all well", map[string]int{"kept-good": 1}, ""},
		{"unanswered, yet kept", map[string]int{"kept-good": 1, "lost-good": 1}, ""},
		{"missing", map[string]int{}, "was answered 200 and is missing"},
		{"doubled", map[string]int{"kept-good": 2}, "is there 2 times"},
		{"unanswered and doubled", map[string]int{"kept-good": 1, "lost-good": 2}, "is there 2 times"},
		{"rejected, yet kept", map[string]int{"kept-good": 1, "kept-bad": 1}, "was rejected, yet"},
		{"refused, yet kept", map[string]int{"kept-good": 1, "refused-good": 1}, "was refused as a whole"},
		{"from nowhere", map[string]int{"kept-good": 1, "other": 1}, "which nobody sent"},
	} {
		_, differences := l.compare("here", c.seen)
		if c.says == "" && len(differences) > 0 || c.says != "" && (len(differences) != 1 || !strings.Contains(differences[0], c.says)) {
			t.Errorf("%s: the ledger finds %q, expected %q", c.name, differences, c.says)
		}
	}
}
