package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"weir/internal/load"
)

// benchCmd measures. Its hidden verbs are the processes it starts.
type benchCmd struct {
	Ingest benchIngestCmd `cmd:"" help:"Send batches to a server as fast as it takes them, and measure."`
	Table  benchTableCmd  `cmd:"" help:"Measure this gateway and a plainly written one side by side, and write the table."`

	Replay benchReplayCmd `cmd:"" help:"Measure how fast read models are folded from a log: records per second, processor time."`
	Pages  benchPagesCmd  `cmd:"" help:"Measure what the console's pages ask a running server for, with the events that a project has."`

	Freshness benchFreshnessCmd `cmd:"" help:"Measure how long it takes from an acknowledged event to a read that shows it."`

	Broker   benchBrokerCmd   `cmd:"" hidden:""`
	Gateway  benchGatewayCmd  `cmd:"" hidden:""`
	Baseline benchBaselineCmd `cmd:"" hidden:""`
}

// What can be measured when no --target is given.
const (
	subjectWeir     = "weir"
	subjectBaseline = "baseline"
	subjectBare     = "bare" // HTTP, key and signature alone
)

// benchLoad is what is sent.
type benchLoad struct {
	Batch       int           `help:"Events in a batch." default:"1000"`
	Types       string        `help:"Events of one type or of all thirteen." enum:"log,mixed" default:"log"`
	Connections int           `help:"Batches under way at once." default:"8"`
	Duration    time.Duration `help:"How long to measure." default:"5s"`
	Events      int64         `help:"Measure until so many events are accepted, instead of --duration."`
	Warmup      time.Duration `help:"How long to send before measuring." default:"1s"`
	Rate        float64       `help:"Batches a second that are due whatever the server does (open loop); 0 sends as fast as answers come."`
	Paced       float64       `help:"Then send at this share of the capacity found, open loop, and measure again (0.7 for the latency at 70 %)." placeholder:"SHARE"`
	Seed        uint64        `help:"Seed of the bodies." default:"1"`
}

type benchIngestCmd struct {
	benchLoad
	Target  string   `help:"Address of a running server; without it one is started for the measurement." placeholder:"URL"`
	Key     string   `help:"API key for --target; without it a project is made with the admin token." env:"WEIR_API_KEY" placeholder:"KEY"`
	Secret  string   `help:"Webhook secret that belongs to --key." env:"WEIR_WEBHOOK_SECRET" placeholder:"SECRET"`
	Data    string   `help:"Data folder whose admin token is used for --target." env:"WEIR_DATA_DIR" default:"${data_dir}" placeholder:"DIR"`
	Token   string   `help:"Admin token for --target, instead of the data folder's." env:"WEIR_ADMIN_TOKEN" placeholder:"TOKEN"`
	Subject string   `help:"What is started without --target: this gateway, the plainly written baseline, or HTTP and signature alone." enum:"weir,baseline,bare" default:"weir"`
	Brokers []string `help:"Kafka brokers for the server that is started; without any, an embedded broker in a process of its own." placeholder:"ADDR,…"`
	Profile string   `name:"cpuprofile" help:"File for a CPU profile of the server that is started." placeholder:"FILE"`
	JSON    bool     `name:"json" help:"Print JSON."`
}

// benchReport is one measurement.
type benchReport struct {
	Subject string `json:"subject"`
	Target  string `json:"target"`
	load.Result
	Paced *load.Result `json:"paced,omitempty"`
}

func (c *benchIngestCmd) Run(ctx context.Context, t *terminal) error {
	if c.Batch < 1 || c.Connections < 1 || c.Duration < 0 || c.Rate < 0 || c.Paced < 0 || c.Paced > 1 {
		return usagef("--batch and --connections must be at least 1, --duration and --rate not negative, --paced between 0 and 1")
	}
	under, err := c.subject(ctx, t)
	if err != nil {
		return err
	}
	defer under.close()
	report, err := under.measure(ctx, c.benchLoad)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(report)
	}
	report.print(t)
	return nil
}

// subject is the running server that is to be measured.
func (c *benchIngestCmd) subject(ctx context.Context, t *terminal) (*benchSubject, error) {
	if c.Target != "" {
		return c.target(ctx, t)
	}
	stand, err := startStand(ctx, c.Brokers)
	if err != nil {
		return nil, err
	}
	under, err := stand.start(ctx, c.Subject, c.Profile)
	if err != nil {
		stand.close()
		return nil, err
	}
	under.after = stand.close
	return under, nil
}

// target measures a server that is there already. Its process is found through the admin's
// doctor, and its processor time read, when it runs on this machine.
func (c *benchIngestCmd) target(ctx context.Context, t *terminal) (*benchSubject, error) {
	under := &benchSubject{name: "target", url: strings.TrimRight(c.Target, "/"), key: c.Key, secret: c.Secret}
	r := remote{Server: under.url, Data: c.Data, Token: c.Token}
	admin, err := r.admin()
	if err != nil && c.Key == "" {
		return nil, fmt.Errorf("%w; or give --key and --secret", err)
	}
	if err == nil {
		var d diagnosis
		if err := admin.Call(ctx, http.MethodGet, "/api/doctor", nil, nil, &d); err == nil {
			if _, err := load.ProcessCPU(d.PID); err == nil && isLoopback(under.url) {
				under.pid = d.PID
			}
		}
	}
	if under.pid == 0 {
		t.notef("The server's processor time is not measured: that takes its admin token, on its own Linux machine.\n")
	}
	if c.Key != "" {
		if c.Secret == "" {
			return nil, usagef("--key needs --secret, the project's webhook secret")
		}
		return under, nil
	}
	var made created
	if err := admin.Call(ctx, http.MethodPost, "/api/projects", nil, map[string]string{"name": "bench"}, &made); err != nil {
		return nil, err
	}
	limits := map[string]int{"events_per_second": 0, "batches_per_second": 0}
	if err := admin.Call(ctx, http.MethodPatch, "/api/projects/"+made.ProjectID+"/limits", nil, limits, nil); err != nil {
		return nil, err
	}
	under.key, under.secret = made.APIKey, made.WebhookSecret
	return under, nil
}

func isLoopback(url string) bool {
	for _, host := range []string{"http://127.", "http://localhost", "http://[::1]"} {
		if strings.HasPrefix(url, host) {
			return true
		}
	}
	return false
}

// benchSubject is a server under measurement.
type benchSubject struct {
	name, url, key, secret string
	pid                    int // 0: its processor time is not known
	process                *benchProcess
	after                  func()
}

func (s *benchSubject) close() {
	if s.process != nil {
		s.process.end()
	}
	if s.after != nil {
		s.after()
	}
}

func (s *benchSubject) measure(ctx context.Context, l benchLoad) (benchReport, error) {
	cfg := load.Config{
		URL: s.url, Key: s.key, Secret: []byte(s.secret), Batch: l.Batch, Types: l.Types, Connections: l.Connections,
		Seed: l.Seed, Duration: l.Duration, Events: l.Events, Warmup: l.Warmup, Rate: l.Rate,
	}
	if l.Events > 0 {
		cfg.Duration = 0
	}
	if s.pid != 0 {
		cfg.CPU = func() (time.Duration, error) { return load.ProcessCPU(s.pid) }
	}
	report := benchReport{Subject: s.name, Target: s.url}
	var err error
	if report.Result, err = load.Run(ctx, cfg); err != nil || l.Paced == 0 {
		return report, err
	}
	cfg.Rate = l.Paced * float64(report.Batches) / report.Seconds
	// A batch that is due must not wait for a free connection: that is the server's latency, not ours.
	cfg.Connections = max(4*l.Connections, 64)
	paced, err := load.Run(ctx, cfg)
	report.Paced = &paced
	return report, err
}

func (r benchReport) print(t *terminal) {
	line := func(what string, m load.Result) {
		t.printf("%s: %.0f events/s in batches of %d (%s, %.0f bytes an event), %d connections, %.1f s\n",
			what, m.EventsPerSecond, m.Batch, m.Types, m.BytesPerEvent, m.Connections, m.Seconds)
		t.printf("  latency ms: p50 %.2f  p90 %.2f  p99 %.2f  p99.9 %.2f  max %.2f\n",
			m.Latency.P50, m.Latency.P90, m.Latency.P99, m.Latency.P999, m.Latency.Max)
		if m.CPUSecondsPerMillion != nil {
			t.printf("  server: %.2f CPU-seconds per million events\n", *m.CPUSecondsPerMillion)
		}
		t.printf("  answers: %v, broken connections: %d %s\n", m.Statuses, m.Errors, m.FirstError)
	}
	line(r.Subject, r.Result)
	if r.Paced != nil {
		line(fmt.Sprintf("%s at %.0f batches/s", r.Subject, r.Paced.Rate), *r.Paced)
	}
}
