package ingest

import (
	"bytes"
	"strings"
	"testing"
)

// The vectors of RFC 4231, section 4; its case 5 is about truncation, which is refused here.
func TestSignatureVectors(t *testing.T) {
	counted := make([]byte, 25)
	for i := range counted {
		counted[i] = byte(i + 1)
	}
	long := bytes.Repeat([]byte{0xaa}, 131)
	var of signer // one for all, as a pooled request has it
	for name, v := range map[string]struct {
		key, data []byte
		want      string
	}{
		"1": {bytes.Repeat([]byte{0x0b}, 20), []byte("Hi There"), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
		"2": {[]byte("Jefe"), []byte("what do ya want for nothing?"), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
		"3": {bytes.Repeat([]byte{0xaa}, 20), bytes.Repeat([]byte{0xdd}, 50), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
		"4": {counted, bytes.Repeat([]byte{0xcd}, 50), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
		"6": {long, []byte("Test Using Larger Than Block-Size Key - Hash Key First"), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
		"7": {long, []byte("This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm."), "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
	} {
		if !of.signed(v.key, v.data, v.want) || !of.signed(v.key, v.data, strings.ToUpper(v.want)) {
			t.Errorf("case %s is refused", name)
		}
		if of.signed(v.key, append(v.data, ' '), v.want) || of.signed(append(v.key, 'x'), v.data, v.want) {
			t.Errorf("case %s is taken with another body or key", name)
		}
	}
}

func TestSignatures(t *testing.T) {
	d := newDoor(t)
	good := sign(secretA, oneLog)
	mixed := strings.ToUpper(good[:31]) + good[31:]
	for name, c := range map[string]struct {
		values []string
		status int
	}{
		"good":                {[]string{good}, 200},
		"upper case":          {[]string{strings.ToUpper(good)}, 200},
		"mixed case":          {[]string{mixed}, 200},
		"missing":             {nil, 403},
		"empty":               {[]string{""}, 403},
		"prefixed":            {[]string{"sha256=" + good}, 403},
		"truncated":           {[]string{good[:62]}, 403},
		"one digit less":      {[]string{good[:63]}, 403},
		"longer":              {[]string{good + "00"}, 403},
		"doubled":             {[]string{good + good}, 403},
		"sent twice":          {[]string{good, good}, 403},
		"a list":              {[]string{good + ", " + good}, 403},
		"no hex":              {[]string{"zz" + good[2:]}, 403},
		"base64":              {[]string{"gNCo7YSLpMR9l9vAM5cYqTJv4Mmjhfdcbc9UbErkhQE="}, 403},
		"one bit off":         {[]string{flip(good)}, 403},
		"of another project":  {[]string{sign(secretB, oneLog)}, 403},
		"of another body":     {[]string{sign(secretA, oneLog+" ")}, 403},
		"without the prefix":  {[]string{sign(strings.TrimPrefix(secretA, "whsec_"), oneLog)}, 403},
		"surrounded by space": {[]string{" " + good}, 403},
	} {
		r := post{body: oneLog, signature: "-"}.request(t, "/api/ingest")
		if c.values != nil {
			r.Header[headerSignature] = c.values
		}
		if got := d.ask(r); got.status != c.status {
			t.Errorf("%s: got %v, want %d", name, got, c.status)
		} else if c.status == 403 && strings.Contains(got.body, good[:16]) {
			t.Errorf("%s: the answer tells the signature: %v", name, got)
		}
	}
}

func flip(s string) string {
	last := byte('0')
	if s[len(s)-1] == '0' {
		last = '1'
	}
	return s[:len(s)-1] + string(last)
}
