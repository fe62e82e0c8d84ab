package rejections

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/eventlog"
)

// Log is what telling needs of the log; *eventlog.Log is one.
type Log interface {
	Append(ctx context.Context, topic string, partition int, s eventlog.Set) (first int64, err error)
	PartitionFor(topic string, batch [16]byte) int
}

// Bounds of what is remembered.
const (
	mostReasons = 100    // per project and hour; more are counted as one
	mostEntries = 20_000 // of all projects: about 10 MB
)

// OtherReasons is what the reasons beyond the bound are counted as.
const OtherReasons = "event: more different reasons in this hour than are told apart"

// A reason is told after firstWait and then after twice as long each time, up to
// longestWait, as long as it goes on; a new hour begins anew.
const (
	firstWait   = time.Second
	longestWait = 30 * time.Second
	tick        = 250 * time.Millisecond
)

// Config of a Teller. Log must be given.
type Config struct {
	Log        Log
	Now        func() time.Time      // nil: time.Now
	Logger     *slog.Logger          // nil: none
	Registerer prometheus.Registerer // nil: none
}

// Teller remembers rejections and tells them to the log. All methods may run at once.
type Teller struct {
	cfg     Config
	dropped prometheus.Counter

	mu      sync.Mutex
	entries map[key]*entry
	reasons map[string]int // different ones by project in this hour
	hour    int64
}

type key struct{ project, kind, reason string }

type entry struct {
	count  int64
	last   time.Time
	sample string
	due    time.Time
	wait   time.Duration
}

// New makes a Teller that tells while Run runs.
func New(cfg Config) *Teller {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	t := &Teller{cfg: cfg, entries: map[key]*entry{}, reasons: map[string]int{}}
	t.dropped = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "weir_ingest_rejections_dropped_total", Help: "Rejected events that are not counted in the rejections of their project, because there were too many kinds or the log did not take them.",
	})
	if cfg.Registerer != nil {
		cfg.Registerer.MustRegister(t.dropped)
	}
	return t
}

// Note counts n rejected events of one type and reason. raw is one of them, read
// only during the call.
func (t *Teller) Note(project, kind, reason string, n int, raw []byte) {
	now := t.cfg.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if hour := now.Unix() / 3600; hour != t.hour {
		t.hour = hour
		t.forget()
	}
	e := t.entry(key{project, kind, cut(reason, mostReason)}, now)
	if e == nil {
		t.dropped.Add(float64(n))
		return
	}
	e.count += int64(n)
	e.last = now
	if raw != nil {
		e.sample = sampleOf(raw)
	}
}

// entry finds or makes the entry of a kind of rejection; nil: there is no room.
func (t *Teller) entry(k key, now time.Time) *entry {
	if e := t.entries[k]; e != nil {
		return e
	}
	if t.reasons[k.project] >= mostReasons {
		k = key{k.project, "", OtherReasons}
		if e := t.entries[k]; e != nil {
			return e
		}
	} else if len(t.entries) >= mostEntries {
		return nil
	}
	k.reason = strings.Clone(k.reason) // not the whole text it was cut from
	t.reasons[k.project]++
	e := &entry{due: now.Add(firstWait), wait: firstWait}
	t.entries[k] = e
	return e
}

// forget begins a new hour: what has been told is forgotten.
func (t *Teller) forget() {
	clear(t.reasons)
	for k, e := range t.entries {
		if e.count == 0 {
			delete(t.entries, k)
			continue
		}
		t.reasons[k.project]++
		e.wait = firstWait
	}
}

// Run tells until ctx ends, then tells what is left, for a short time.
func (t *Teller) Run(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			t.tell(ctx, t.take(t.cfg.Now()))
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			t.tell(last, t.take(time.Time{}))
			return nil
		}
	}
}

// told is the value of a record; eventlog.RejectionsTopic describes it.
type told struct {
	project string
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Count   int64     `json:"count"`
	Last    time.Time `json:"last"`
	Sample  string    `json:"sample"`
}

// take gives out what is due at now, or everything for the zero time.
func (t *Teller) take(now time.Time) (due []told) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, e := range t.entries {
		if e.count == 0 || (!now.IsZero() && now.Before(e.due)) {
			continue
		}
		due = append(due, told{k.project, k.kind, k.reason, e.count, e.last.UTC().Truncate(time.Millisecond), e.sample})
		e.wait = min(2*e.wait, longestWait)
		e.count, e.sample, e.due = 0, "", now.Add(e.wait)
	}
	return due
}

// mostAtOnce bounds an append.
const mostAtOnce = 500

// tell appends by project; what the log did not surely refuse is not told twice.
func (t *Teller) tell(ctx context.Context, due []told) {
	byProject := map[string][]told{}
	for _, d := range due {
		byProject[d.project] = append(byProject[d.project], d)
	}
	for project, list := range byProject {
		for len(list) > 0 {
			n := min(len(list), mostAtOnce)
			if err := t.append(ctx, project, list[:n]); err != nil {
				t.lost(list[:n], err)
			}
			list = list[n:]
		}
	}
}

func (t *Teller) append(ctx context.Context, project string, list []told) error {
	s := eventlog.Set{Key: []byte(project), Time: t.cfg.Now()}
	_, _ = rand.Read(s.Batch[:])
	for _, d := range list {
		value, err := json.Marshal(d)
		if err != nil {
			return err
		}
		s.Values = append(s.Values, value)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := t.cfg.Log.Append(ctx, eventlog.RejectionsTopic, t.cfg.Log.PartitionFor(eventlog.RejectionsTopic, s.Batch), s)
	return err
}

// lost puts back what is surely not in the log, and drops the rest.
func (t *Teller) lost(list []told, cause error) {
	again := errors.Is(cause, eventlog.ErrOverloaded)
	t.cfg.Logger.Warn("counts of rejected events were not taken by the log", "kinds", len(list), "again", again, "error", cause)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range list {
		e := t.entries[key{d.project, d.Type, d.Reason}]
		if !again || e == nil {
			t.dropped.Add(float64(d.Count))
			continue
		}
		e.count += d.Count
		if e.sample == "" {
			e.sample, e.last = d.Sample, d.Last
		}
	}
}
