package integration

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/child"
)

// `weir tail` prints each event that arrives once, in words and as JSON, ends by Ctrl-C with
// exit code 0, and does not keep a server from ending.
func TestTail(t *testing.T) {
	t.Parallel()
	rng, seed := seeded(t)
	s := serve(t, unlimited...)
	who := s.project("tail")
	follow := func(args ...string) *run {
		out := &transcript{serving: make(chan string, 1)}
		cmd := exec.Command(binary(t), append([]string{"tail", "--server", s.base()}, args...)...)
		cmd.Env, cmd.Stdout, cmd.Stderr = environment("WEIR_API_KEY="+who.APIKey), out, out
		process, err := child.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(process.Kill)
		return &run{process, out}
	}
	stays, leaves := follow(), follow("--json")
	// A tail shows what arrives after it has begun: events are sent until it shows one.
	l := &ledger{}
	for n := 0; !strings.Contains(stays.out.String(), "first-") || !strings.Contains(leaves.out.String(), "first-"); n++ {
		sendOne(t, s, who, newEvent(rng, fmt.Sprintf("first-%d", n), "log"))
		_ = until(500*time.Millisecond, func() error {
			if !strings.Contains(stays.out.String(), "first-") || !strings.Contains(leaves.out.String(), "first-") {
				return fmt.Errorf("not shown yet")
			}
			return nil
		})
		if n == 60 {
			t.Fatalf("a tail shows nothing: %.1000q %.1000q", stays.out.String(), leaves.out.String())
		}
	}
	b := newBatch(rng, fmt.Sprintf("s%x-tail", seed), 200)
	l.enter(b)
	if a, err := post(s.base(), who, b.body, b.key); err != nil || b.agrees(a.body) != nil {
		t.Fatalf("%s %v", a, err)
	}
	l.settle(b, answered)
	eventually(t, 20*time.Second, "the tail shows what was sent", func() error {
		return tailed(l, leaves.out.String())
	})
	_ = syscall.Kill(leaves.process.PID(), syscall.SIGINT)
	if err := leaves.process.Err(); err != nil {
		t.Errorf("weir tail ended with %v after Ctrl-C", err)
	}
	s.stop(syscall.SIGTERM)
	<-stays.process.Ended()
	if !strings.Contains(stays.out.String(), "ended the stream") {
		t.Errorf("a tail whose server has ended says nothing of it: %s", stays.out.end())
	}
}

// tailed compares the printed lines with the ledger.
func tailed(l *ledger, printed string) error {
	seen := map[string]int{}
	for line := range strings.Lines(printed) {
		var item historyItem
		if json.Unmarshal([]byte(line), &item) != nil {
			continue // the line that is being printed
		}
		if marker, err := item.marker(); err == nil && !strings.HasPrefix(marker, "first-") {
			seen[marker]++
		}
	}
	if _, differences := l.compare("the tail", seen); len(differences) > 0 {
		return fmt.Errorf("%d differences: %s", len(differences), shown(differences))
	}
	return nil
}
