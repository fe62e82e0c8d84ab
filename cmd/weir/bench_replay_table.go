package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"weir/readmodel"
)

// medianReplay is the run in the middle by records per second.
func medianReplay(runs []replayReport) replayReport {
	runs = slices.SortedFunc(slices.Values(runs), func(a, b replayReport) int { return cmp.Compare(a.RecordsPerSecond, b.RecordsPerSecond) })
	m := runs[len(runs)/2]
	m.Median = true
	return m
}

// replayAims are how many times the Kafka engine's events per second were aimed at.
var replayAims = map[string]string{readmodel.History: "5, ⅕ of its CPU", readmodel.ErrorGroups: "8", readmodel.Costs: "8"}

func replayTable(medians map[[2]string]replayReport, c *benchReplayCmd) string {
	var b strings.Builder
	runs := fmt.Sprintf("medians of %d runs in turn", c.Runs)
	if c.Runs == 1 {
		runs = "one run"
	}
	fmt.Fprintf(&b, "# Benchmarks of the folds\n\nWritten by `make bench`. %s; %d × %s, %s %s/%s; the embedded broker (unsynced) and ClickHouse in processes of their own; "+
		"%d events of each of %d types, of about 330 bytes; %s.\n\n",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), processor(), runtime.Version(), runtime.GOOS, runtime.GOARCH, c.Events, len(replayTypes), runs)
	b.WriteString("CPU is processor seconds per million records, of the projector and ClickHouse together (the projector's share in brackets); the broker's is not in it.\n\n" +
		"- weir: the projection from the first offset, exactly once, everything on but fsync.\n" +
		"- Kafka engine: ClickHouse's own Kafka table engine, JSONEachRow, and materialized views into the same tables (for errorgroups the occurrences and the hours only), " +
		"on the same records and broker, at least once. Its clock stops after some 786,000 records, or before its last, incomplete block, for which it waits.\n\n")
	b.WriteString("| projection | aim, times | weir records/s | Kafka engine records/s | times as fast | weir CPU | Kafka engine CPU | times less CPU |\n|---|---|---|---|---|---|---|---|\n")
	for _, name := range c.Only {
		ours, ok := medians[[2]string{name, engineWeir}]
		theirs, both := medians[[2]string{name, engineKafka}]
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %.0f | ", name, cmp.Or(replayAims[name], "-"), ours.RecordsPerSecond)
		if !both {
			fmt.Fprintf(&b, "- | - | %.2f (%.2f) | - | - |\n", ours.cpu(), ours.ProjectorCPU)
			continue
		}
		fmt.Fprintf(&b, "%.0f | %s | %.2f (%.2f) | %.2f | %s |\n", theirs.RecordsPerSecond, times(ours.RecordsPerSecond, theirs.RecordsPerSecond),
			ours.cpu(), ours.ProjectorCPU, theirs.cpu(), times(theirs.cpu(), ours.cpu()))
	}
	return b.String()
}
