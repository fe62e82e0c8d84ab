package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"weir/internal/load"
)

// benchTableCmd measures each case on this gateway and on the baseline, several times in turn, on
// the same broker, and compares medians.
type benchTableCmd struct {
	Out      string        `help:"File for the table, Markdown; without it only standard output." placeholder:"FILE"`
	Runs     int           `help:"Runs of each case; medians are shown." default:"3"`
	Duration time.Duration `help:"How long each run is measured." default:"4s"`
	Brokers  []string      `help:"Kafka brokers; without any, an embedded broker in a process of its own." placeholder:"ADDR,…"`
	Cluster  []string      `help:"Apache Kafka brokers to measure latencies on, beside the table." placeholder:"ADDR,…"`
	Note     string        `help:"A sentence for the page, such as what else the machine did." placeholder:"TEXT"`
	JSON     bool          `name:"json" help:"Print every run as a JSON line."`
}

type benchCase struct {
	name        string
	batch       int
	types       string
	connections int
	target      string // CPU-seconds per million that were aimed at
}

var benchCases = []benchCase{
	{"1,000 log events a batch", 1000, load.Logs, 8, "1.2"},
	{"100 log events a batch", 100, load.Logs, 16, "2.0"},
	{"100 mixed events a batch", 100, load.Mixed, 16, "2.2"},
	{"1 log event a batch", 1, load.Logs, 64, "¼ of one produce each"},
	{"1 log event a batch", 1, load.Logs, 256, "¼ of one produce each"},
}

// clusterCases are measured for their latency at 70 % of the capacity found.
var clusterCases = []benchCase{benchCases[1], benchCases[3]}

// benchRow is the medians of one case.
type benchRow struct {
	benchCase
	ours, plain, bare benchReport
}

func (c *benchTableCmd) Run(ctx context.Context, t *terminal) error {
	if c.Runs < 1 {
		return usagef("--runs must be at least 1")
	}
	stand, err := startStand(ctx, c.Brokers)
	if err != nil {
		return err
	}
	defer stand.close()
	var rows []benchRow
	for _, k := range benchCases {
		row, err := c.measure(ctx, t, stand, k)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		rows = append(rows, row)
	}
	text := benchTable(rows, c)
	if len(c.Cluster) > 0 {
		latencies, err := c.latencies(ctx, t)
		if err != nil {
			return err
		}
		text += latencies
	}
	if !c.JSON {
		t.printf("%s", text)
	}
	if c.Out == "" {
		return nil
	}
	return writeSection(c.Out, "gateway", text)
}

// latencies measures on the cluster, whose processes warm up in a first run that does not count.
func (c *benchTableCmd) latencies(ctx context.Context, t *terminal) (string, error) {
	stand, err := startStand(ctx, c.Cluster)
	if err != nil {
		return "", err
	}
	defer stand.close()
	var b strings.Builder
	fmt.Fprintf(&b, "\n## On %d Apache Kafka brokers, acks=all\n\nThe brokers' Java processes, gateway and load generator share the machine: its capacity is theirs together. "+
		"Batches are then due at 70 %% of it, whatever the server does, and latency counts from when each was due; the aim is a p99 under 25 ms. The best and the middle of %d runs: "+
		"what else runs on a machine can only make a run worse.\n\n", len(c.Cluster), c.Runs)
	b.WriteString("| case | capacity, events/s | batches/s at 70 % | p50, best run | p99, best run | p99, middle run |\n|---|---|---|---|---|---|\n")
	for _, k := range clusterCases {
		var runs []benchReport
		for n := range c.Runs + 1 {
			r, err := c.once(ctx, stand, subjectWeir, k)
			if err != nil {
				return "", fmt.Errorf("on the cluster: %s: %w", k.name, err)
			}
			if c.JSON {
				_ = t.json(r)
			} else {
				t.notef("%-26s cluster   %9.0f events/s, p99 %.1f ms\n", k.name, r.EventsPerSecond, r.Paced.Latency.P99)
			}
			if n > 0 {
				runs = append(runs, r)
			}
		}
		slices.SortFunc(runs, func(a, b benchReport) int { return cmp.Compare(a.Paced.Latency.P99, b.Paced.Latency.P99) })
		best, middle := runs[0], runs[len(runs)/2]
		fmt.Fprintf(&b, "| %s, %d connections | %.0f | %.0f | %.1f ms | %.1f ms | %.1f ms |\n", k.name, k.connections,
			best.EventsPerSecond, best.Paced.Rate, best.Paced.Latency.P50, best.Paced.Latency.P99, middle.Paced.Latency.P99)
	}
	return b.String(), nil
}

// measure runs a case on both, in turn, so that what else the machine does falls on both.
func (c *benchTableCmd) measure(ctx context.Context, t *terminal, stand *benchStand, k benchCase) (benchRow, error) {
	runs := map[string][]benchReport{}
	for range c.Runs {
		for _, subject := range []string{subjectWeir, subjectBaseline, subjectBare} {
			r, err := c.once(ctx, stand, subject, k)
			if err != nil {
				return benchRow{}, fmt.Errorf("%s: %w", subject, err)
			}
			if runs[subject] = append(runs[subject], r); c.JSON {
				_ = t.json(r)
			} else {
				t.notef("%-26s %-9s %9.0f events/s\n", k.name, subject, r.EventsPerSecond)
			}
		}
	}
	return benchRow{benchCase: k, ours: median(runs[subjectWeir]), plain: median(runs[subjectBaseline]), bare: median(runs[subjectBare])}, nil
}

func (c *benchTableCmd) once(ctx context.Context, stand *benchStand, subject string, k benchCase) (benchReport, error) {
	under, err := stand.start(ctx, subject, "")
	if err != nil {
		return benchReport{}, err
	}
	defer under.close()
	l := benchLoad{Batch: k.batch, Types: k.types, Connections: k.connections, Duration: c.Duration, Warmup: time.Second, Seed: 1}
	if subject == subjectWeir {
		l.Paced = 0.7
	}
	return under.measure(ctx, l)
}

// median is the run in the middle by processor time.
func median(runs []benchReport) benchReport {
	slices.SortFunc(runs, func(a, b benchReport) int {
		if perMillion(a.Result) < perMillion(b.Result) {
			return -1
		}
		return 1
	})
	return runs[len(runs)/2]
}

// perMillion is 0 where it was not measured.
func perMillion(r load.Result) float64 {
	if r.CPUSecondsPerMillion == nil {
		return 0
	}
	return *r.CPUSecondsPerMillion
}

func benchTable(rows []benchRow, c *benchTableCmd) string {
	var b strings.Builder
	broker := "the embedded broker (unsynced) in its own process"
	if len(c.Brokers) > 0 {
		broker = fmt.Sprintf("%d Kafka brokers, acks=all", len(c.Brokers))
	}
	fmt.Fprintf(&b, "# Benchmarks of the gateway\n\nWritten by `make bench`. %s; %d × %s, %s %s/%s; %s; medians of %d runs of %v.\n\n",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), processor(), runtime.Version(), runtime.GOOS, runtime.GOARCH, broker, c.Runs, c.Duration)
	if c.Note != "" {
		b.WriteString(c.Note + "\n\n")
	}
	b.WriteString("CPU is processor seconds of the server's process per million events of about 340 bytes.\n\n" +
		"- weir: this gateway, everything on.\n" +
		"- baseline: the same endpoint written plainly (`ingest/baseline`): net/http, encoding/json, kafka-go `Client.Produce`, the same checks.\n" +
		"- bare: net/http, key and signature alone: what no gateway on net/http can go below. The last ratio leaves it out on both sides.\n\n" +
		"One event a batch is the case of group commit: the baseline makes one produce for each request. \"times less\" compares whole processes, most of which " +
		"is then HTTP, which requests can't share; \"above bare\" compares what comes after it, the checks and the append. The aim of 4 times is to be read off the latter: " +
		"whole processes can't reach it where bare alone costs more than a quarter of the baseline.\n\n" +
		"Load generator, gateway and broker share the machine, so events per second and latencies say less than CPU.\n\n")
	b.WriteString("| case | aim | weir CPU | baseline CPU | bare CPU | times less | above bare | weir events/s | baseline events/s | weir p99 at 70 % |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		ours, plain, bare := perMillion(r.ours.Result), perMillion(r.plain.Result), perMillion(r.bare.Result)
		fmt.Fprintf(&b, "| %s, %d connections | %s | %.2f | %.2f | %.2f | %s | %s | %.0f | %.0f | %.1f ms |\n",
			r.name, r.connections, r.target, ours, plain, bare, times(plain, ours), times(plain-bare, ours-bare),
			r.ours.EventsPerSecond, r.plain.EventsPerSecond, r.ours.Paced.Latency.P99)
	}
	return b.String()
}

// times is how often b goes into a; where the difference drowns in the noise there is none.
func times(a, b float64) string {
	if a <= 0 || b < a/100 {
		return "-"
	}
	return fmt.Sprintf("%.1f", a/b)
}

// processor names what the machine computes with.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "processor"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "processor"
}
