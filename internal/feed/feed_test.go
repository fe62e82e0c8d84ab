package feed

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func TestLineTimeAndLevel(t *testing.T) {
	cases := []struct{ line, at, level string }{
		{"[Sun Dec 04 04:47:44 2005] [notice] workerEnv.init() ok", "2005-12-04T04:47:44Z", "info"},
		{"[Sun Dec 04 04:47:44 2005] [error] mod_jk child", "2005-12-04T04:47:44Z", "error"},
		{"081109 203615 148 INFO dfs.DataNode$PacketResponder: x", "2008-11-09T20:36:15Z", "info"},
		{"2015-10-18 18:01:47,978 INFO [main] org.apache.hadoop", "2015-10-18T18:01:47.978Z", "info"},
		{"Jun 14 15:16:01 combo sshd(pam_unix)[19939]: authentication failure", "2025-06-14T15:16:01Z", ""},
		{"Feb  9 06:55:46 LabSZ sshd[24200]: reverse mapping", "2026-02-09T06:55:46Z", ""},
		{"17/06/09 20:10:40 INFO executor.CoarseGrainedExecutorBackend: x", "2017-06-09T20:10:40Z", "info"},
		{"2015-07-29 17:41:44,747 - INFO  [QuorumPeer[myid=1]/0:0", "2015-07-29T17:41:44.747Z", "info"},
		{"2024-05-01T10:00:00.5+02:00 WARN disk", "2024-05-01T08:00:00.5Z", "warn"},
		{`10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 23`, "2000-10-10T20:55:36Z", ""},
		{"no time here, INFORMATION is no level", "", ""},
		{"ERROR", "", "error"},
	}
	for _, c := range cases {
		at, ok := lineTime(c.line, time.UTC, now)
		got := ""
		if ok {
			got = at.Format(time.RFC3339Nano)
		}
		if got != c.at {
			t.Errorf("time of %q = %q, want %q", c.line, got, c.at)
		}
		if got := lineLevel(c.line); got != c.level {
			t.Errorf("level of %q = %q, want %q", c.line, got, c.level)
		}
	}
}

func TestBatchesKeepEveryEventWithinTheBounds(t *testing.T) {
	const events = 250
	var in strings.Builder
	for i := range events {
		fmt.Fprintf(&in, "{\"type\":\"log\",\"n\":%d,\"pad\":%q}\n\n", i, strings.Repeat("x", i%90))
	}
	opts := Options{MaxEvents: 20, MaxBytes: 1500}
	r := NewReader("in", strings.NewReader(in.String()), opts)
	next := 0
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Body) > opts.MaxBytes || len(b.Lines) > opts.MaxEvents {
			t.Fatalf("batch of %d bytes and %d events is over the bounds", len(b.Body), len(b.Lines))
		}
		var body struct{ Events []struct{ N int } }
		if err := json.Unmarshal(b.Body, &body); err != nil {
			t.Fatal(err)
		}
		for _, e := range body.Events {
			if e.N != next {
				t.Fatalf("event %d came where %d was due", e.N, next)
			}
			next++
		}
	}
	if next != events || r.Skipped() != events {
		t.Errorf("%d events and %d blank lines, want %d of each", next, r.Skipped(), events)
	}
}

func TestBrokenEventNamesItsLine(t *testing.T) {
	r := NewReader("f.ndjson", strings.NewReader("plain\n{\"type\":\"log\",\n"), Options{})
	_, err := r.Next()
	if err == nil || !strings.Contains(err.Error(), "f.ndjson line 2") {
		t.Errorf("error %v, want one that names f.ndjson line 2", err)
	}
}

func TestRealLogsHaveTimes(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/data/loghub/*_2k.log")
	if len(files) == 0 {
		t.Skip("../shared/data/loghub is not here: real log files were left out")
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(body)), "\n")
		found := 0
		for _, line := range lines {
			if _, ok := lineTime(line, time.UTC, now); ok {
				found++
			}
		}
		if found < len(lines)*99/100 {
			t.Errorf("%s: a time was found in %d of %d lines", filepath.Base(file), found, len(lines))
		}
	}
}
