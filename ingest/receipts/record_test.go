package receipts

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRecordsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		origin := rapid.Int64Min(0).Draw(t, "origin")
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		positions := rapid.SampledFrom([]string{"", "log:0:12", "log:0:12,cost:5:1"}).Draw(t, "positions")
		r, err := parseRecord(appendReceipt(nil, origin, positions, body))
		if err != nil || !r.receipt || r.origin != origin || r.positions != positions || !bytes.Equal(r.body, body) {
			t.Fatalf("%+v, %v", r, err)
		}
		gateway := rapid.StringMatching(`[!-~]{1,128}`).Draw(t, "gateway")
		if !validGateway(gateway) {
			t.Fatal(gateway)
		}
		in := Intent{Digest: DigestOf(body), Topics: rapid.SliceOf(rapid.SampledFrom([]string{"weir.events.log", "weir.events.cost"})).Draw(t, "topics"), Answer: body}
		word := rapid.SampledFrom([]string{claimWord, anewWord}).Draw(t, "word")
		c, err := parseRecord(appendClaim(nil, word, origin, gateway, &in))
		if err != nil || c.receipt || c.origin != origin || c.gateway != gateway || c.anew != (word == anewWord) ||
			c.digest != in.Digest || c.topics != strings.Join(in.Topics, ",") || !bytes.Equal(c.body, body) {
			t.Fatalf("%+v, %v", c, err)
		}
	})
}

func TestForeignRecordsAreRefused(t *testing.T) {
	for _, value := range []string{
		"", "claim", "claim 1", "claim 1 ", "claim x one", "claim 1 one\n", "claim 1 one 00 -\n",
		"claim 1 one 00112233445566778899aabbccddeeff -", "claim 1 one 00112233445566778899aabbccddeefg -\n", "claim 1 one 00112233445566778899aabbccddeeff \n",
		"claim 1 one two 00112233445566778899aabbccddeeff -\n", "anew 1 one\n", "receipt 1 -", "receipt 1\n{}", "lease 1 one", "\n", " ", `{"claim":1}`,
	} {
		if r, err := parseRecord([]byte(value)); err == nil {
			t.Errorf("%q is read as %+v", value, r)
		}
	}
}

func TestUUIDs(t *testing.T) {
	const lower = "123e4567-e89b-12d3-a456-42661417400f"
	a, ok := ParseUUID(lower)
	b, ok2 := ParseUUID(strings.ToUpper(lower))
	if !ok || !ok2 || a != b || a[0] != 0x12 || a[15] != 0x0f {
		t.Errorf("%x %v, %x %v", a, ok, b, ok2)
	}
	for _, good := range []string{"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"} {
		if _, ok := ParseUUID(good); !ok {
			t.Errorf("%s is refused", good)
		}
	}
	for _, bad := range []string{
		"", "1", strings.ReplaceAll(lower, "-", ""), "{" + lower + "}", "urn:uuid:" + lower, lower + " ", " " + lower,
		lower[:35], lower + "0", strings.Replace(lower, "f", "g", 1), strings.Replace(lower, "-", "0", 1), "123e4567-e89b-12d3-a4-6426614174000f",
	} {
		if _, ok := ParseUUID(bad); ok {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestKeysAreApart(t *testing.T) {
	id := [16]byte{1}
	a, b := Key{"prj_a", id}, Key{"prj_b", id}
	if a.hash() == b.hash() || a.hash() != (Key{"prj_a", id}).hash() {
		t.Error("keys of two projects meet, or one is not the same twice")
	}
	if batchOf(a.hash(), 1) == batchOf(a.hash(), 2) || batchOf(a.hash(), 1) == a.hash() {
		t.Error("two uses of a key have one batch id")
	}
}
