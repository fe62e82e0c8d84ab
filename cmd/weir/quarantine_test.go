package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// fakeQuarantine has two records for costs and says that there are more, none for the others, and
// does not know the name none.
func fakeQuarantine(t *testing.T) string {
	t.Helper()
	const costs = `{"data":[
		{"projection":"costs","topic":"weir.events.cost","partition":3,"offset":41,"project_id":null,"reason":"not JSON",
			"payload":"\u001b[31mred\tand\nmore","payload_bytes":70000,"received_at":"2026-11-20T12:00:00Z","generation":2},
		{"projection":"costs","topic":"weir.events.cost","partition":3,"offset":40,"project_id":"prj_1","reason":"no amount",
			"payload":"{}","payload_bytes":2,"received_at":"2026-11-20T11:00:00Z","generation":2}],"next_cursor":"more"}`
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/projections/{name}/quarantine", func(w http.ResponseWriter, r *http.Request) {
		answer := `{"data":[],"next_cursor":null}`
		switch name := r.PathValue("name"); {
		case name == "costs":
			answer = costs
		case name == "none":
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			answer = `{"type":"urn:weir:problem:not_found","title":"Not found","status":404,"detail":"no such projection","code":"not_found"}`
		}
		_, _ = w.Write([]byte(answer))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func TestQuarantineList(t *testing.T) {
	url := fakeQuarantine(t)
	for _, test := range []struct {
		args      []string
		code      int
		out, errs []string
	}{
		{[]string{"costs"}, exitDone, []string{"weir.events.cost", "41", "40", `"not JSON"`, `"\x1b[31mred\tand\nmore"`, "70000"}, []string{"weir rebuild costs\n", "more than these 2"}},
		{nil, exitDone, []string{"costs", "41", "40"}, []string{"weir rebuild costs\n"}},
		{[]string{"history"}, exitDone, nil, []string{"Nothing is in quarantine"}},
		{[]string{"none"}, exitFailed, nil, []string{"quarantine of none", "no such projection"}},
	} {
		code, out, errs := runWeir(append([]string{"quarantine", "list", "--server", url, "--token", "admin"}, test.args...)...)
		if code != test.code || test.out == nil && out != "" || strings.Contains(out+errs, "\x1b") {
			t.Errorf("%v: %d\n%s%s", test.args, code, out, errs)
		}
		for _, words := range test.out {
			if !strings.Contains(out, words) {
				t.Errorf("%v does not print %q:\n%s", test.args, words, out)
			}
		}
		for _, words := range test.errs {
			if !strings.Contains(errs, words) {
				t.Errorf("%v does not say %q:\n%s", test.args, words, errs)
			}
		}
	}
}

func TestQuarantineListAsJSON(t *testing.T) {
	url := fakeQuarantine(t)
	for name, want := range map[string]int{"costs": 2, "history": 0} {
		code, out, errs := runWeir("quarantine", "list", name, "--json", "--server", url, "--token", "admin")
		var records []quarantined
		if err := json.Unmarshal([]byte(out), &records); code != exitDone || err != nil || records == nil || len(records) != want {
			t.Errorf("%s: %d %v\n%s%s", name, code, err, out, errs)
		}
	}
	if code, out, _ := runWeir("quarantine", "list", "--help"); code != exitDone || !strings.Contains(strings.Join(strings.Fields(out), " "), "weir quarantine retry NAME") {
		t.Errorf("the help does not say how to retry: %d %s", code, out)
	}
}
