package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Config of one run.
type Config struct {
	URL    string // of the server, http only
	Key    string // API key
	Secret []byte // webhook secret, its whole text

	Batch       int    // events in a batch
	Types       string // Logs or Mixed
	Connections int    // batches under way at once
	Seed        uint64 // of the bodies

	// The run ends after Duration, or when Events events have been accepted if
	// that is more than zero. Warmup comes before both and is not measured.
	Duration time.Duration
	Events   int64
	Warmup   time.Duration

	// Rate is how many batches a second are due; zero is a closed loop.
	Rate float64

	// CPU reads the processor time of the server; nil: not measured.
	CPU func() (time.Duration, error)
}

// Result of a run. Batches that were refused count in Statuses only.
type Result struct {
	Batch       int     `json:"batch"`
	Types       string  `json:"types"`
	Connections int     `json:"connections"`
	Rate        float64 `json:"rate_batches_per_second,omitempty"`

	Seconds         float64          `json:"seconds"`
	Events          int64            `json:"events"` // accepted
	EventsPerSecond float64          `json:"events_per_second"`
	Batches         int64            `json:"batches"` // answered 200
	BytesPerEvent   float64          `json:"bytes_per_event"`
	Statuses        map[string]int64 `json:"statuses"`
	Errors          int64            `json:"errors"`
	FirstError      string           `json:"first_error,omitempty"`
	Latency         Latency          `json:"latency"`

	// CPUSeconds the server used, and per million accepted events; nil when not measured.
	CPUSeconds           *float64 `json:"cpu_seconds,omitempty"`
	CPUSecondsPerMillion *float64 `json:"cpu_seconds_per_million,omitempty"`
}

// bodiesPrepared is how many different bodies are sent in turn.
const bodiesPrepared = 64

// Run sends until its end or ctx's, and measures. It fails when it can't begin;
// what goes wrong later is counted in the result.
func Run(ctx context.Context, cfg Config) (Result, error) {
	target, err := url.Parse(cfg.URL)
	if err != nil || target.Scheme != "http" || target.Host == "" {
		return Result{}, fmt.Errorf("the load generator speaks plain HTTP: %q is no http://host:port address", cfg.URL)
	}
	if cfg.Batch < 1 || cfg.Connections < 1 || (cfg.Duration <= 0 && cfg.Events <= 0) {
		return Result{}, errors.New("a run needs at least one event in a batch, one connection, and a duration or a number of events")
	}
	addr := target.Host
	if target.Port() == "" {
		addr += ":80"
	}
	r := &run{cfg: cfg, addr: addr, statuses: map[int]int64{}}
	var bytes int
	for _, body := range Bodies(bodiesPrepared, cfg.Batch, cfg.Types, cfg.Seed) {
		r.requests = append(r.requests, request(target.Host, cfg.Key, cfg.Secret, body))
		bytes += len(body)
	}
	probe := conn{addr: addr}
	defer probe.close()
	if a, err := probe.send(r.requests[0]); err != nil || a.status != http.StatusOK || a.accepted != cfg.Batch {
		return Result{}, fmt.Errorf("the first batch was not taken (status %d, %d of %d events accepted): %w", a.status, a.accepted, cfg.Batch, err)
	}
	result, err := r.measure(ctx)
	result.BytesPerEvent = float64(bytes) / float64(bodiesPrepared*cfg.Batch)
	return result, err
}

// run is a run under way.
type run struct {
	cfg      Config
	addr     string
	requests [][]byte

	next      atomic.Int64 // ticket of the next batch
	start     time.Time
	measuring atomic.Bool
	events    atomic.Int64

	mu       sync.Mutex
	statuses map[int]int64
	took     []time.Duration
	errs     int64
	firstErr error
}

func (r *run) measure(ctx context.Context) (Result, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r.start = time.Now()
	var workers sync.WaitGroup
	for range r.cfg.Connections {
		workers.Go(func() { r.work(ctx, stop) })
	}
	pause(ctx, r.cfg.Warmup)
	before, err := r.cpu()
	if err != nil {
		stop()
		workers.Wait()
		return Result{}, err
	}
	began := time.Now()
	r.measuring.Store(true)
	if r.cfg.Duration > 0 {
		pause(ctx, r.cfg.Duration)
	} else {
		<-ctx.Done()
	}
	r.measuring.Store(false)
	seconds := time.Since(began).Seconds()
	after, err := r.cpu()
	stop()
	workers.Wait()
	return r.result(seconds, after-before), err
}

func (r *run) cpu() (time.Duration, error) {
	if r.cfg.CPU == nil {
		return 0, nil
	}
	return r.cfg.CPU()
}

func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// refusedPause keeps a closed loop from hammering a server that sheds.
const refusedPause = 20 * time.Millisecond

// work is one connection.
func (r *run) work(ctx context.Context, stop func()) {
	c := conn{addr: r.addr}
	defer c.close()
	var took []time.Duration
	statuses := map[int]int64{}
	defer func() { r.add(statuses, took) }()
	for ctx.Err() == nil {
		n := r.next.Add(1) - 1
		due := time.Now()
		if r.cfg.Rate > 0 {
			due = r.start.Add(time.Duration(float64(n) / r.cfg.Rate * float64(time.Second)))
			if pause(ctx, time.Until(due)); ctx.Err() != nil {
				return
			}
		}
		a, err := c.send(r.requests[n%int64(len(r.requests))])
		if !r.measuring.Load() {
			continue
		}
		if err != nil {
			r.failed(err)
			pause(ctx, refusedPause)
			continue
		}
		statuses[a.status]++
		if a.status != http.StatusOK {
			if r.cfg.Rate == 0 {
				pause(ctx, refusedPause)
			}
			continue
		}
		took = append(took, time.Since(due))
		if all := r.events.Add(int64(a.accepted)); r.cfg.Events > 0 && all >= r.cfg.Events {
			stop()
		}
	}
}

func (r *run) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs++
	if r.firstErr == nil {
		r.firstErr = err
	}
}

func (r *run) add(statuses map[int]int64, took []time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for status, n := range statuses {
		r.statuses[status] += n
	}
	r.took = append(r.took, took...)
}

func (r *run) result(seconds float64, cpu time.Duration) Result {
	res := Result{
		Batch: r.cfg.Batch, Types: r.cfg.Types, Connections: r.cfg.Connections, Rate: r.cfg.Rate,
		Seconds: seconds, Events: r.events.Load(), Batches: r.statuses[http.StatusOK], Errors: r.errs,
		Statuses: map[string]int64{}, Latency: latencyOf(r.took),
	}
	res.EventsPerSecond = float64(res.Events) / seconds
	for status, n := range r.statuses {
		res.Statuses[strconv.Itoa(status)] = n
	}
	if r.firstErr != nil {
		res.FirstError = r.firstErr.Error()
	}
	if r.cfg.CPU != nil {
		used := cpu.Seconds()
		res.CPUSeconds = &used
		if res.Events > 0 {
			per := used / float64(res.Events) * 1e6
			res.CPUSecondsPerMillion = &per
		}
	}
	return res
}
