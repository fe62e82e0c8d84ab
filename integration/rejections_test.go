package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// TestRejectionsAreKept: why events were rejected can be read, with exact counts and a sample, by the
// project alone, also after the process was killed.
func TestRejectionsAreKept(t *testing.T) {
	s := serve(t, unlimited...)
	who, other := s.project("shop"), s.project("other")
	body := []byte(`{"events":[
		{"type":"log","ts":"2026-11-21T12:00:00Z","data":{"message":"fine"}},
		{"type":"log","ts":"2026-11-21T12:00:00Z","data":{"level":"info"}},
		{"type":"lgo","ts":"2026-11-21T12:00:00Z","data":{}},
		{"type":"log","ts":"2026-11-21T12:00:00Z","data":{"level":"warn"}}]}`)
	const batches = 5
	for range batches {
		a, err := post(s.base(), who, body, "")
		if err != nil || a.status != http.StatusOK {
			t.Fatal(a, err)
		}
	}
	want := map[string]int{"log data.message: required": 2 * batches, ` type: unknown value "lgo"`: batches}
	check := func() error {
		a, err := get(s.base(), who.APIKey, "/api/ingest/rejections", nil)
		if err != nil {
			return err
		}
		var page struct {
			Data []struct {
				Type                *string
				Reason, Sample      string
				Count               int
				LastSeen, FirstHour time.Time
			}
		}
		if err := json.Unmarshal(a.body, &page); err != nil || a.status != http.StatusOK {
			return fmt.Errorf("%s: %w", a, err)
		}
		got := map[string]int{}
		for _, r := range page.Data {
			kind := ""
			if r.Type != nil {
				kind = *r.Type
			}
			got[kind+" "+r.Reason] += r.Count
			if r.Sample == "" || !json.Valid([]byte(r.Sample)) {
				return fmt.Errorf("the sample of %q is %q", r.Reason, r.Sample)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("rejections are %v, expected %v", got, want)
		}
		return nil
	}
	if err := until(startPatience, check); err != nil {
		t.Fatal(err)
	}
	a, err := get(s.base(), other.APIKey, "/api/ingest/rejections", nil)
	if err != nil || a.status != http.StatusOK || string(a.body) != "{\"data\":[],\"next_cursor\":null}\n" {
		t.Errorf("another project reads %s, %v", a, err)
	}
	if a, err = get(s.base(), other.APIKey, "/api/ingest/rejections", url.Values{"project_id": {who.ProjectID}}); err != nil || a.status != http.StatusNotFound {
		t.Errorf("another project's key gets %s, %v", a, err)
	}
	s.kill()
	s.start()
	if err := until(startPatience, check); err != nil {
		t.Errorf("after a kill: %v", err)
	}
}
