package load

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// clockTick is what the kernel counts processor time in for programs: USER_HZ,
// 100 a second on every Linux platform that Go runs on.
const clockTick = 10 * time.Millisecond

// ProcessCPU is the processor time that a process of this machine has used, user
// and system together, to about 10 ms. It works from any process.
func ProcessCPU(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
	}
	// pid (command) state …: the command may hold anything, also brackets.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("processor time of process %d: /proc gives %q", pid, stat)
	}
	user, err1 := strconv.ParseInt(string(fields[11]), 10, 64)
	system, err2 := strconv.ParseInt(string(fields[12]), 10, 64)
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("processor time of process %d: /proc gives %q", pid, stat)
	}
	return time.Duration(user+system) * clockTick, nil
}
