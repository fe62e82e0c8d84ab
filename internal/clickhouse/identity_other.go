//go:build !linux

package clickhouse

import (
	"os/exec"
	"strconv"
	"strings"
)

// processIdentity tells a process from a later one with the same id: its start time. Empty means
// that there is no such process, or that it has ended.
func processIdentity(pid int) string {
	out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	state, started, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if strings.HasPrefix(state, "Z") {
		return ""
	}
	return strings.TrimSpace(started)
}
