package control

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// shows says in which form text holds the secret, "" for none.
func shows(text, secret string) string {
	b := []byte(secret)
	forms := map[string]string{
		"plain": secret, "hex": hex.EncodeToString(b), "HEX": strings.ToUpper(hex.EncodeToString(b)),
		"base64": base64.StdEncoding.EncodeToString(b), "bytes": strings.Trim(fmt.Sprint(b), "[]"),
		"Go bytes": strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", b), "[]byte{"), "}"),
	}
	for _, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} { // as a cipher keeps its key
		forms["words "+order.String()] = fmt.Sprintf("%d %d", order.Uint32(b), order.Uint32(b[4:]))
		forms["hex words "+order.String()] = fmt.Sprintf("%x %x", order.Uint32(b), order.Uint32(b[4:]))
	}
	for form, f := range forms {
		if strings.Contains(text, f) {
			return form
		}
	}
	return ""
}

func TestNothingPrintsASecret(t *testing.T) {
	const text = "whsec_dGhpcyBpcyBhIHNlY3JldA=="
	s := NewSecret(text)
	ring, err := NewKeyring(testMasterKey)
	if err != nil {
		t.Fatal(err)
	}
	entry := &keyEntry{id: "k", project: new(projectCell)}
	entry.project.Store(&projectView{id: "p", secret: s})
	values := []any{
		s, &s, []Secret{s}, map[string]Secret{"a": s},
		Caller{secret: s}, &Caller{secret: s}, projectView{secret: s}, entry, *entry,
		NewProject{APIKey: s, WebhookSecret: s}, NewKey{APIKey: s}, apiKey{text: s}, &apiKey{text: s},
		Config{Keyring: ring, AdminToken: s}, struct{ s Secret }{s}, ring, *ring, []*Keyring{ring},
		newIndex(ring, s), struct{ any }{s},
	}
	for _, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			printed := fmt.Sprintf(verb, v)
			for _, secret := range []string{text, string(testMasterKey.Bytes())} {
				if form := shows(printed, secret); form != "" {
					t.Errorf("%T printed by %s shows the secret as %s", v, verb, form)
				}
			}
		}
		var log bytes.Buffer
		for _, h := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
			slog.New(h).Info("x", "value", v)
		}
		b, _ := json.Marshal(v)
		if form := shows(log.String()+string(b), text); form != "" {
			t.Errorf("%T logged or encoded shows the secret as %s", v, form)
		}
	}
	if s.Reveal() != text || fmt.Sprint(s) != Redacted {
		t.Error("a secret must be revealed when asked, and only then")
	}
}

func TestKeyring(t *testing.T) {
	first, second := testMasterKey, NewSecret(strings.Repeat("k", MasterKeyLen))
	old, err := NewKeyring(first)
	if err != nil {
		t.Fatal(err)
	}
	rotated, err := NewKeyring(second, first)
	if err != nil {
		t.Fatal(err)
	}
	secret := newWebhookSecret()
	sealed := old.Seal("use", "prj_a", secret)
	if shows(sealed, secret.Reveal()) != "" || sealed == old.Seal("use", "prj_a", secret) {
		t.Error("sealing must hide, and never twice the same way")
	}
	only, _ := NewKeyring(second)
	for _, c := range []struct {
		name                    string
		ring                    *Keyring
		purpose, entity, sealed string
		want                    error
	}{
		{"opens", old, "use", "prj_a", sealed, nil},
		{"opens after the master key was replaced", rotated, "use", "prj_a", sealed, nil},
		{"a new one, by the new key", only, "use", "prj_a", rotated.Seal("use", "prj_a", secret), nil},
		{"without the old key", only, "use", "prj_a", sealed, ErrUnknownMasterKey},
		{"moved to another entity", old, "use", "prj_b", sealed, ErrSealBroken},
		{"moved to another purpose", old, "other", "prj_a", sealed, ErrSealBroken},
		{"changed", old, "use", "prj_a", sealed[:len(sealed)-2] + "AA", ErrSealBroken},
		{"cut", old, "use", "prj_a", sealed[:len(sealed)-20], ErrSealBroken},
		{"cut short", old, "use", "prj_a", sealed[:14], ErrSealBroken},
		{"key id of another key", rotated, "use", "prj_a", strings.Replace(sealed, old.sealID, rotated.sealID, 1), ErrSealBroken},
		{"empty", old, "use", "prj_a", "", ErrSealBroken},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.ring.Open(c.purpose, c.entity, c.sealed)
			if !errors.Is(err, c.want) || (err == nil && got.Reveal() != secret.Reveal()) {
				t.Errorf("got %q, %v", got.Reveal(), err)
			}
		})
	}
	if _, err := NewKeyring(NewSecret("too short a key")); err == nil || shows(err.Error(), "too short a key") != "" {
		t.Errorf("a short master key: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	ring := testKeyring(f)
	f.Add(ring.Seal("use", "prj_a", NewSecret("x")) + "x")
	f.Add("s1..")
	f.Fuzz(func(t *testing.T, sealed string) {
		if _, err := ring.Open("use", "prj_a", sealed); err == nil {
			t.Error("opened what nobody sealed")
		}
	})
}
