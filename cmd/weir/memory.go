package main

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"weir/ingest"
)

// The budget is divided: a body is held once by its request and, as records, once more while it is
// appended. What is in use beside them is bounded by the collector.
const (
	appendShare = 4 // a quarter of the budget
	leastAppend = 32 << 20
	heapRoom    = 80 << 20 // for all else, garbage too; resident memory stays below the budget plus 128 MiB
)

// appendBudget is how many bytes may wait for the log, bodiesInFlight how many of bodies may be held.
func (p *portal) appendBudget() int64   { return max(leastAppend, p.bytesInFlight()/appendShare) }
func (p *portal) bodiesInFlight() int64 { return p.bytesInFlight() - p.appendBudget() }

// An open connection takes connBytes even when nothing comes over it; the first of them, connsFree
// bytes' worth, are not taken off the budget.
const (
	connBytes = 16 << 10
	connsFree = 48 << 20
)

// countConn is http.Server.ConnState.
func (p *portal) countConn(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		p.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		p.conns.Add(-1)
	case http.StateActive, http.StateIdle:
	}
}

// connMemory is what open connections take of the budget.
func (p *portal) connMemory() int64 { return max(0, p.conns.Load()*connBytes-connsFree) }

// gatewayGC lets the small heap of a gateway grow to five times its size between collections: next
// to nothing in it lives longer than a request, and the limit below bounds it all the same.
const gatewayGC = 400

// rolesRoom is what the other roles of a process that takes batches may need beside it.
const rolesRoom = 256 << 20

// boundMemory makes the collector keep a process that takes batches within the budget, and garbage
// from piling up where it does more.
func (p *portal) boundMemory() {
	limit := p.bytesInFlight() + heapRoom
	if len(p.cfg.Roles) > 1 || len(p.cfg.KafkaBrokers) == 0 {
		limit += rolesRoom
	} else {
		debug.SetGCPercent(gatewayGC)
	}
	debug.SetMemoryLimit(limit)
}

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
