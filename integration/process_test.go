package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// processesOf lists the running processes whose command line names the folder: the server itself
// and the engine it started.
func processesOf(folder string) []int {
	var found []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte(folder)) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		found = append(found, pid)
	}
	return found
}

// engineOf is the process id of the server's ClickHouse child.
func engineOf(t testing.TB, s *server) int {
	t.Helper()
	engine := 0
	eventually(t, 30*time.Second, "the server has a ClickHouse child", func() error {
		for _, pid := range processesOf(s.data) {
			if pid != s.current().process.PID() {
				engine = pid
				return nil
			}
		}
		return fmt.Errorf("none of %v is one", processesOf(s.data))
	})
	return engine
}

// nothingLeft waits until no process of the server is left.
func nothingLeft(t testing.TB, s *server, within time.Duration) {
	t.Helper()
	began := time.Now()
	eventually(t, within, "the children of an ended server end by themselves", func() error {
		if left := processesOf(s.data); len(left) > 0 {
			return fmt.Errorf("processes %v still run on %s", left, s.data)
		}
		return nil
	})
	t.Logf("no child left %v after the end", time.Since(began).Round(time.Millisecond))
}
