package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/projections/errorgroups/grouping"
)

func runWeir(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, &out, &err)
	return code, out.String(), err.String()
}

// explain prints why, for a capture, an event and a text, and needs no server.
func TestErrorsExplain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "payload.json")
	for payload, says := range map[string]string{
		`{"name":"TypeError","message":"x of 4711","stack":"TypeError: x\n    at pay (/srv/shop/pay.js:3:1)"}`:      "pay",
		`{"type":"error","ts":"2026-11-21T09:00:00Z","data":{"name":"TypeError","message":"card 4711 is unknown"}}`: "4711",
		`no JSON at all`: "decided by",
	} {
		if err := os.WriteFile(file, []byte(payload), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errs := runWeir("errors", "explain", file)
		if code != exitDone || !strings.Contains(out, says) || !strings.Contains(out, "fingerprint") {
			t.Errorf("%s: %d\n%s%s", payload, code, out, errs)
		}
		code, out, _ = runWeir("errors", "explain", file, "--json", "--project", "prj_1")
		var why grouping.Explanation
		if err := json.Unmarshal([]byte(out), &why); code != exitDone || err != nil || len(why.Fingerprint) != 32 || why.Algorithm != grouping.Algorithm {
			t.Errorf("%s: %d %v %s", payload, code, err, out)
		}
	}
	if code, _, errs := runWeir("errors", "explain", file, "--algorithm", "12345"); code != exitUsage || !strings.Contains(errs, "12345") {
		t.Errorf("an unknown algorithm: %d %s", code, errs)
	}
	if code, _, _ := runWeir("errors", "explain", filepath.Join(t.TempDir(), "none")); code != exitFailed {
		t.Errorf("a file that is not there: %d", code)
	}
	if code, _, errs := runWeir("errors", "preview", "--algorithm", "12345"); code != exitUsage || !strings.Contains(errs, "12345") {
		t.Errorf("a preview of an unknown algorithm: %d %s", code, errs)
	}
}

// What a capture is answered is what the fold will find.
func TestCapturedGroupIsTheFolds(t *testing.T) {
	chosen, err := grouping.Lookup(grouping.Algorithm)
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{`{"name":"E","message":"m 1"}`, `{"message":"a"}`, `{"stack":5}`, `[]`, ``, "\xff"} {
		payload, _ := grouping.ParsePayload([]byte(data))
		if got, want := capturedGroup(chosen)("prj_1", []byte(data)).Fingerprint, grouping.Group("prj_1", payload).Hex(); got != want || len(got) != 32 {
			t.Errorf("%q: %s, want %s", data, got, want)
		}
	}
}
