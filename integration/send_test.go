package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// summary is what `weir send --json` prints.
type summary struct {
	Events, Accepted, Rejected, Batches, Retries int
	Reasons                                      []struct {
		Source string
		Line   int
		Reason string
	}
}

// `weir send` brings every line of its files in once, although the limits refuse it now and then,
// and its numbers are right.
func TestSendFiles(t *testing.T) {
	t.Parallel()
	rng, seed := seeded(t)
	s := serve(t, "INGEST_RATE_LIMIT_EVENTS_PER_SECOND=1000", "INGEST_RATE_LIMIT_BATCHES_PER_SECOND=8")
	who := s.project("send")
	folder := t.TempDir()
	b := newBatch(rng, fmt.Sprintf("s%x-send", seed), 1500)
	l := &ledger{}
	l.enter(b)
	rejected := writeEvents(t, filepath.Join(folder, "events.ndjson"), b)
	lines := writeLines(t, rng, filepath.Join(folder, "shop.log"))
	files := []string{filepath.Join(folder, "events.ndjson"), filepath.Join(folder, "shop.log")}
	for _, sample := range samples(t) {
		files = append(files, sample)
		lines = append(lines, linesOf(t, sample)...)
	}

	o := weir(t, []string{"WEIR_API_KEY=" + who.APIKey, "WEIR_WEBHOOK_SECRET=" + who.WebhookSecret},
		append([]string{"send", "--json", "--server", s.base(), "--batch", "100", "--parallel", "8"}, files...)...)
	var sum summary
	if err := json.Unmarshal([]byte(o.stdout), &sum); o.code != 0 || err != nil {
		t.Fatalf("weir send: exit code %d, %v: %s %s", o.code, err, o.stdout, o.stderr)
	}
	l.settle(b, answered)
	events := len(b.events) + len(lines)
	if sum.Events != events || sum.Accepted != events-len(rejected) || sum.Rejected != len(rejected) || sum.Retries == 0 {
		t.Errorf("expected %d events, %d rejected, and some retries; the summary is %s", events, len(rejected), o.stdout)
	}
	checkReasons(t, sum, rejected)
	folded(t, s, adminToken(t, s), s.doctor().Log.Brokers, time.Minute)
	checkSent(t, s, who, l, lines)
	t.Logf("%d events of %d files in %d batches with %d retries in %v", sum.Events, len(files), sum.Batches, sum.Retries, o.took.Round(time.Millisecond))
}

// writeEvents writes NDJSON with blank lines in it; it returns the reasons by line number.
func writeEvents(t *testing.T, path string, b *batch) map[int]string {
	t.Helper()
	var text strings.Builder
	rejected, line := map[int]string{}, 0
	for i, e := range b.events {
		if i%97 == 0 {
			text.WriteString("\n")
			line++
		}
		text.WriteString(e.json() + "\n")
		if line++; e.reason != "" {
			rejected[line] = e.reason
		}
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return rejected
}

// writeLines writes a log as programs write it: times or none, CRLF, broken UTF-8, no last newline.
func writeLines(t *testing.T, rng *rand.Rand, path string) []string {
	t.Helper()
	var text bytes.Buffer
	for n := range 500 {
		switch rng.IntN(5) {
		case 0:
			fmt.Fprintf(&text, "2026-11-20T10:00:%02dZ ERROR payment %d failed: \"no\" {x}\r\n", n%60, n)
		case 1:
			fmt.Fprintf(&text, "   indented without a time %d\n\n", n)
		case 2:
			fmt.Fprintf(&text, "broken \xff\xfe bytes %d\n", n)
		case 3:
			fmt.Fprintf(&text, "[looks like JSON %d\n", n)
		default:
			fmt.Fprintf(&text, "Nov 20 10:00:%02d host app[%d]: the same line\n", n%60, 7)
		}
	}
	text.WriteString("the last line has no newline")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return linesOf(t, path)
}

// samples are real logs, where this checkout has them.
func samples(t *testing.T) []string {
	t.Helper()
	found, _ := filepath.Glob("../../shared/data/loghub/*_2k.log")
	if len(found) == 0 {
		t.Log("without the real logs, which are not beside this checkout")
	}
	return found[:min(len(found), sized(2, 100))]
}

// linesOf are the lines that become events: all that are not blank, in valid UTF-8.
func linesOf(t *testing.T, path string) []string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.SplitSeq(string(raw), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.TrimSpace(line) != "" {
			lines = append(lines, strings.ToValidUTF8(line, string(utf8.RuneError)))
		}
	}
	return lines
}

func checkReasons(t *testing.T, sum summary, rejected map[int]string) {
	t.Helper()
	for _, r := range sum.Reasons {
		if filepath.Base(r.Source) != "events.ndjson" || rejected[r.Line] != r.Reason {
			t.Errorf("the summary says that %s line %d was rejected with %q, expected %q", r.Source, r.Line, r.Reason, rejected[r.Line])
		}
	}
	if len(sum.Reasons) != min(20, len(rejected)) {
		t.Errorf("%d reasons for %d rejected events", len(sum.Reasons), len(rejected))
	}
}

// checkSent reads the history: marked events against the ledger, the others by their lines.
func checkSent(t *testing.T, s *server, who credentials, l *ledger, lines []string) {
	t.Helper()
	seen, left := map[string]int{}, map[string]int{}
	for _, line := range lines {
		left[line]++
	}
	for _, item := range history(t, s.base(), who) {
		var data struct{ Marker, Message string }
		if err := json.Unmarshal(item.Data, &data); err != nil {
			t.Fatal(err)
		}
		if data.Marker != "" {
			seen[data.Marker]++
		} else {
			left[data.Message]--
		}
	}
	_, differences := l.compare("the history", seen)
	for line, n := range left {
		if n != 0 {
			differences = append(differences, fmt.Sprintf("the line %q is there %d times too few (below zero: too many)", line, n))
		}
	}
	if len(differences) > 0 {
		t.Errorf("%d differences:\n  %s", len(differences), shown(differences))
	}
}
