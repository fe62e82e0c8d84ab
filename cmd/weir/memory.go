package main

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"weir/ingest"
)

// bytesInFlight is the gateway's budget for bodies: as set, else 256 MiB or a quarter of the memory
// there is, whichever is less.
func (p *portal) bytesInFlight() int64 {
	if p.cfg.BytesInFlight > 0 {
		return p.cfg.BytesInFlight
	}
	if memory := availableMemory(); memory > 0 {
		return min(ingest.DefaultBytesInFlight, memory/4)
	}
	return ingest.DefaultBytesInFlight
}

// availableMemory is the machine's, or the control group's bound where that is less; 0 when not known.
func availableMemory() int64 {
	memory := machineMemory()
	raw, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if err != nil {
		return memory
	}
	bound, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	if err != nil { // "max"
		return memory
	}
	if memory == 0 {
		return bound
	}
	return min(memory, bound)
}

func machineMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}
