package signing

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"pgregory.net/rapid"
)

// The vector of the specification's reference implementations.
func TestVector(t *testing.T) {
	key, err := ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`), key); got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
	if s := fmt.Sprintf("%v %+v %#v %x", key, key, key, key); strings.Contains(s, "31f290f6") || strings.Contains(s, "MfKQ") {
		t.Errorf("a key prints itself: %s", s)
	}
}

func signed(id string, at time.Time, body []byte, keys ...Key) http.Header {
	h := http.Header{}
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(HeaderSignature, Sign(id, at, body, keys...))
	return h
}

// Whatever is signed verifies with the public Go library and with Verify, with either secret of a rotation.
func TestPublicGoLibrary(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		body := rapid.SliceOf(rapid.Byte()).Draw(r, "body")
		id := rapid.StringMatching(`dlv_[0-9a-v]{26}`).Draw(r, "id")
		var secrets []string
		var keys []Key
		for range rapid.IntRange(1, 3).Draw(r, "secrets") {
			raw := rapid.SliceOfN(rapid.Byte(), 24, 64).Draw(r, "secret")
			secrets = append(secrets, "whsec_"+base64.StdEncoding.EncodeToString(raw))
			key, err := ParseSecret(secrets[len(secrets)-1])
			if err != nil {
				r.Fatal(err)
			}
			keys = append(keys, key)
		}
		now := time.Now()
		h := signed(id, now, body, keys...)
		for i, s := range secrets {
			receiver, err := standard.NewWebhook(s)
			if err != nil {
				r.Fatal(err)
			}
			if err := receiver.Verify(body, h); err != nil {
				r.Fatalf("public library, secret %d: %v", i, err)
			}
			if err := Verify(h, body, keys[i], now); err != nil {
				r.Fatalf("own, secret %d: %v", i, err)
			}
		}
	})
}

func TestRefused(t *testing.T) {
	key, _ := ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	other, _ := ParseSecret("whsec_AAAA")
	now, body := time.Now(), []byte(`{}`)
	for name, c := range map[string]struct {
		change func(http.Header)
		body   []byte
		key    Key
		at     time.Time
		want   error
	}{
		"good":         {func(http.Header) {}, body, key, now, nil},
		"other body":   {func(http.Header) {}, []byte(`{ }`), key, now, ErrSignature},
		"other secret": {func(http.Header) {}, body, other, now, ErrSignature},
		"other id":     {func(h http.Header) { h.Set(HeaderID, "x") }, body, key, now, ErrSignature},
		"no id":        {func(h http.Header) { h.Del(HeaderID) }, body, key, now, ErrHeaders},
		"no stamp":     {func(h http.Header) { h.Set(HeaderTimestamp, "soon") }, body, key, now, ErrHeaders},
		"late":         {func(http.Header) {}, body, key, now.Add(6 * time.Minute), ErrTimestamp},
		"early":        {func(http.Header) {}, body, key, now.Add(-6 * time.Minute), ErrTimestamp},
		"other scheme": {func(h http.Header) { h.Set(HeaderSignature, "v1a,"+h.Get(HeaderSignature)[3:]) }, body, key, now, ErrSignature},
	} {
		h := signed("dlv_1", now, body, key)
		c.change(h)
		if err := Verify(h, c.body, c.key, c.at); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	for _, bad := range []string{"", "whsec_", "whsec_***"} {
		if _, err := ParseSecret(bad); !errors.Is(err, ErrSecret) {
			t.Errorf("secret %q: %v", bad, err)
		}
	}
}

// The npm library is the other public implementation; it is fetched by its ordinary client into a folder of the test.
func TestPublicNodeLibrary(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node on this machine")
	}
	dir := t.TempDir()
	install := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--silent", "standardwebhooks@1.0.0")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm cannot install the library here: %v: %.200s", err, out)
	}
	old, _ := ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	fresh, _ := ParseSecret("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	body := []byte(`{"type":"deploy.succeeded","data":{"service":"käse"}}`)
	h := signed("dlv_1", time.Now(), body, fresh, old)
	for _, secret := range []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"} {
		script := fmt.Sprintf(`const { Webhook } = require("standardwebhooks");
let body = ""; process.stdin.setEncoding("utf8"); process.stdin.on("data", d => body += d);
process.stdin.on("end", () => new Webhook(%q).verify(body, {"webhook-id": %q, "webhook-timestamp": %q, "webhook-signature": %q}));`,
			secret, h.Get(HeaderID), h.Get(HeaderTimestamp), h.Get(HeaderSignature))
		verify := exec.CommandContext(t.Context(), node, "-e", script)
		verify.Dir, verify.Stdin = dir, bytes.NewReader(body)
		if out, err := verify.CombinedOutput(); err != nil {
			t.Errorf("the npm library refuses: %v: %s", err, out)
		}
	}
}
