package integration

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What `make run` starts: the printed lines work as they are, a restart keeps everything, Ctrl-C
// ends it cleanly, and after a kill nothing is left running and nothing is lost.
func TestDemo(t *testing.T) {
	t.Parallel()
	need(t, "bash", "curl", "openssl")
	recipe, err := exec.Command("make", "-C", "..", "-n", "run").CombinedOutput()
	if err != nil || !strings.Contains(string(recipe), "serve --demo") {
		t.Fatalf("make run is not `serve --demo`: %v\n%s", err, recipe)
	}
	s := newServer(t, "weir")
	s.args = []string{"--demo"}
	s.start()
	s.pasted(3)
	s.stop(syscall.SIGINT)
	nothingLeft(t, s, time.Second)

	s.start()
	s.pasted(6)
	s.kill()
	nothingLeft(t, s, 10*time.Second)

	s.start()
	s.reads(6)
}

// need leaves the test out where a program of everyday use is missing.
func need(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("left out, as there is no %s on PATH", program)
		}
	}
}

// pasted runs the two printed lines as a person would; events is how many there are then.
func (s *server) pasted(events int) {
	s.t.Helper()
	answer := s.bash(s.printed("Send signed events:"))
	if answer != `{"accepted":3,"rejected":[]}` {
		s.t.Fatalf("the printed line that sends was answered %s", answer)
	}
	s.reads(events)
}

// reads runs the printed line that reads, until it shows the newest of so many events.
func (s *server) reads(events int) {
	s.t.Helper()
	line := s.printed("Read them back:")
	eventually(s.t, 15*time.Second, "the printed line reads the events back", func() error {
		var page struct {
			Data []historyItem
			Next *string `json:"next_cursor"`
		}
		answer := s.bash(line)
		if err := json.Unmarshal([]byte(answer), &page); err != nil {
			return fmt.Errorf("%w in %s", err, answer)
		}
		if len(page.Data) != min(events, 5) || (page.Next != nil) != (events > 5) || !strings.Contains(answer, "hello, weir") {
			return fmt.Errorf("expected the newest of %d events, got %s", events, answer)
		}
		return nil
	})
}

// printed is the line that the server printed below a heading.
func (s *server) printed(heading string) string {
	s.t.Helper()
	var line string
	eventually(s.t, 10*time.Second, "the server prints lines to paste", func() error {
		_, after, _ := strings.Cut(s.current().out.String(), heading+"\n\n")
		text, _, complete := strings.Cut(after, "\n")
		if !complete || text == "" {
			return fmt.Errorf("nothing below %q in\n%s", heading, s.said())
		}
		line = text
		return nil
	})
	return line
}

func (s *server) bash(line string) string {
	s.t.Helper()
	o := finish(s.t, exec.Command("bash", "-c", line), time.Minute)
	if o.code != 0 {
		s.t.Fatalf("bash -c %s: exit code %d: %s", line, o.code, o.stderr)
	}
	return strings.TrimSpace(o.stdout)
}
