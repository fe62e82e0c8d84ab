package grouping

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// occurrence is one payload of the corpus and the group that it belongs to.
type occurrence struct {
	group, variant string
	payload        Payload
}

// readCorpus reads testdata/corpus: "@@ group", "@ variant", then fields, the stack last.
func readCorpus(t testing.TB) []occurrence {
	files, err := filepath.Glob("testdata/corpus/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var all []occurrence
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		runtime := strings.TrimSuffix(filepath.Base(file), ".txt")
		for _, group := range strings.Split("\n"+string(data), "\n@@ ")[1:] {
			name, variants, _ := strings.Cut(group, "\n")
			for _, v := range strings.Split("\n"+variants, "\n@ ")[1:] {
				variant, body, _ := strings.Cut(v, "\n")
				all = append(all, occurrence{runtime + "/" + name, variant, readOccurrence(t, body)})
			}
		}
	}
	return all
}

// readOccurrence builds the JSON that a client would send, and parses it.
func readOccurrence(t testing.TB, body string) Payload {
	fields := map[string]string{}
	head, stack, found := strings.Cut("\n"+body, "\nstack:\n")
	if found {
		fields["stack"] = stack
	}
	for _, line := range strings.Split(head, "\n") {
		if key, value, ok := strings.Cut(line, ": "); ok {
			fields[key] = value
		}
	}
	delete(fields, "expect")
	data := []byte(fields["json"])
	if len(data) == 0 {
		data, _ = json.Marshal(fields)
	}
	p, err := ParsePayload(data)
	if err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return p
}

// TestCorpus measures pairs: two occurrences of one group should have one fingerprint, two of
// different groups should not. It lists each miss.
func TestCorpus(t *testing.T) {
	all := readCorpus(t)
	fingerprints := make([][16]byte, len(all))
	for i, o := range all {
		fingerprints[i] = Group("prj_1", o.payload).Fingerprint
	}
	var hit, split, merged int
	for i := range all {
		for j := range i {
			same, equal := all[i].group == all[j].group, fingerprints[i] == fingerprints[j]
			switch {
			case same && equal:
				hit++
			case same:
				split++
				t.Logf("split: %s: %q and %q\n%s\n--- and\n%s", all[i].group, all[j].variant, all[i].variant,
					Explain("prj_1", all[j].payload).Canonical, Explain("prj_1", all[i].payload).Canonical)
			case equal:
				merged++
				t.Logf("merged: %s %q and %s %q\n%s", all[j].group, all[j].variant, all[i].group, all[i].variant, Explain("prj_1", all[i].payload).Canonical)
			}
		}
	}
	precision, recall := float64(hit)/float64(hit+merged), float64(hit)/float64(hit+split)
	f1 := 2 * precision * recall / (precision + recall)
	t.Logf("%d occurrences, %d same pairs: precision %.3f, recall %.3f, F1 %.3f", len(all), hit+split, precision, recall, f1)
	if f1 < 0.95 {
		t.Errorf("pairwise F1 is %.3f, want at least 0.95", f1)
	}
}
