package control

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNewAPIKey(t *testing.T) {
	form := regexp.MustCompile(`^weir_[0-9A-Za-z]{12}[0-9A-Za-z]{32}[0-9A-Za-z]{6}$`)
	seen := map[string]bool{}
	for range 1000 {
		k := newAPIKey()
		text := k.text.Reveal()
		id, ok := keyIDOf(text)
		if !form.MatchString(text) || !ok || id != k.id || seen[id] {
			t.Fatalf("key of id %q: form or checksum wrong, or drawn twice", k.id)
		}
		if h, ok := hashOf(text); !ok || h != k.hash {
			t.Fatal("hash differs")
		}
		seen[id] = true
	}
	if !regexp.MustCompile(`^whsec_[0-9A-Za-z+/]{43}=$`).MatchString(newWebhookSecret().Reveal()) {
		t.Error("form of the webhook secret")
	}
	if !regexp.MustCompile(`^prj_[0-9A-Za-z]{16}$`).MatchString(newProjectID()) {
		t.Error("form of the project id")
	}
}

// TestKeyChecksumIsFixed keeps keys of earlier releases valid.
func TestKeyChecksumIsFixed(t *testing.T) {
	const body = "weir_0123456789ABabcdefghijklmnopqrstuvwxyzABCDEF"
	if len(body) != keyBodyEnd {
		t.Fatal(len(body))
	}
	if _, ok := keyIDOf(body + keyChecksum(body)); !ok || keyChecksum(body) != "121w5x" {
		t.Errorf("the checksum of %s is %s", body, keyChecksum(body))
	}
}

func TestAnyOneChangedCharacterIsNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(newAPIKey().text.Reveal())
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		to := rapid.Byte().Draw(t, "to")
		if text[at] == to {
			return
		}
		text[at] = to
		if _, ok := keyIDOf(string(text)); ok {
			t.Fatalf("%d changed to %q and still taken", at, to)
		}
	})
}

func FuzzKeyIDOf(f *testing.F) {
	f.Add("")
	f.Add("weir_")
	f.Add(newAPIKey().text.Reveal())
	f.Add(strings.Repeat("weir_", 11))
	f.Fuzz(func(t *testing.T, s string) {
		id, ok := keyIDOf(s)
		if !ok {
			return
		}
		if len(s) != keyLen || s[:keyBodyEnd]+keyChecksum(s[:keyBodyEnd]) != s || !strings.HasPrefix(s, keyPrefix+id) {
			t.Errorf("took %q", s)
		}
	})
}

func TestRandomBase62IsUniform(t *testing.T) {
	count := map[rune]int{}
	const n = 62 * 2000
	for _, c := range randomBase62(n) {
		count[c]++
	}
	for _, c := range base62 {
		if count[c] < 1700 || count[c] > 2300 { // over six standard deviations
			t.Errorf("%q came %d times of 2000 expected", c, count[c])
		}
	}
}
