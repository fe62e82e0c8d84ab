package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"weir/eventlog"
	"weir/internal/load"
	"weir/projections"
	"weir/schemas"
)

// benchFreshnessCmd measures how long it takes from the moment the log has acknowledged an event,
// which is when a gateway answers 200, until a read shows it, while events keep coming and every
// projection folds them.
type benchFreshnessCmd struct {
	Rate     int           `help:"Events a second, of four types." default:"25000"`
	Duration time.Duration `help:"How long to measure." default:"15s"`
	Cache    string        `help:"Cache folder of the fetched ClickHouse engine." env:"WEIR_CACHE_DIR" default:"${cache_dir}" placeholder:"DIR"`
	Program  string        `name:"clickhouse-program" help:"clickhouse program to run." env:"WEIR_CLICKHOUSE_PROGRAM" placeholder:"PATH"`
	Out      string        `help:"File for the result, Markdown." placeholder:"FILE"`
	JSON     bool          `name:"json" help:"Print JSON."`
}

// freshness is what was found, in milliseconds.
type freshness struct {
	EventsPerSecond float64 `json:"events_per_second"`
	Samples         int     `json:"samples"`
	P50             float64 `json:"p50_ms"`
	P99             float64 `json:"p99_ms"`
	Max             float64 `json:"max_ms"`
}

const (
	freshnessWarmup = 3 * time.Second
	freshnessTick   = 20 * time.Millisecond // between appends; a request holds what is due then
	freshnessPoll   = 10 * time.Millisecond // between reads
	// freshnessAfter is how long the last events may take before the measurement fails.
	freshnessAfter = 30 * time.Second
)

func (c *benchFreshnessCmd) Run(ctx context.Context, t *terminal) error {
	if c.Rate < 1000 || c.Duration < time.Second {
		return usagef("--rate must be at least 1000 and --duration a second")
	}
	s, err := (&benchReplayCmd{Cache: c.Cache, Program: c.Program}).start(ctx)
	defer s.close()
	if err != nil {
		return err
	}
	projector, err := projections.New(projections.Config{
		Log: s.log, ClickHouse: s.conn, Blocks: s.blocks, Projections: allProjections(), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	var folding sync.WaitGroup
	defer folding.Wait()
	defer stop()
	folding.Go(func() { _ = projector.Run(running) })
	found, err := s.freshness(ctx, c.Rate, c.Duration)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%.0f events/s, folded by every projection as they come; from the log's acknowledgement to a read of the history that shows the event: "+
		"p50 %.0f ms, p99 %.0f ms, max %.0f ms (%d requests)", found.EventsPerSecond, found.P50, found.P99, found.Max, found.Samples)
	if c.JSON {
		err = t.json(found)
	} else {
		t.printf("%s\n", text)
	}
	if err != nil || c.Out == "" {
		return err
	}
	return writeSection(c.Out, "freshness", "# Freshness\n\nWritten by `make bench`. "+text+".\n")
}

// sent is a request's last event.
type sent struct {
	offset int64
	at     time.Time // acknowledged
}

// freshness appends for the given time and waits until all of it can be read.
func (s *replayStand) freshness(ctx context.Context, rate int, during time.Duration) (freshness, error) {
	ctx, cancel := context.WithTimeout(ctx, freshnessWarmup+during+freshnessAfter)
	defer cancel()
	acknowledged := make(chan sent, 1<<16)
	failed := make(chan error, 1)
	go func() {
		failed <- s.pace(ctx, rate, freshnessWarmup+during, acknowledged)
		close(acknowledged)
	}()
	var waiting []sent
	var took []time.Duration
	from, open := time.Now().Add(freshnessWarmup), true
	for open || len(waiting) > 0 {
		seen, err := s.newestLog(ctx)
		if err != nil {
			return freshness{}, err
		}
		now := time.Now()
		for open && (len(acknowledged) > 0 || len(waiting) == 0) {
			next, more := <-acknowledged
			if open = more; more {
				waiting = append(waiting, next)
			}
		}
		for len(waiting) > 0 && waiting[0].offset <= seen {
			if waiting[0].at.After(from) {
				took = append(took, max(0, now.Sub(waiting[0].at)))
			}
			waiting = waiting[1:]
		}
		time.Sleep(freshnessPoll)
	}
	if err := <-failed; err != nil || len(took) == 0 {
		return freshness{}, fmt.Errorf("%d requests were measured: %w", len(took), err)
	}
	slices.Sort(took)
	at := func(q float64) float64 {
		return float64(took[min(len(took)-1, int(q*float64(len(took))))].Microseconds()) / 1000
	}
	return freshness{
		EventsPerSecond: float64(len(took)*s.perTick(rate)) / during.Seconds(), Samples: len(took), P50: at(.5), P99: at(.99), Max: at(1),
	}, nil
}

func (s *replayStand) perTick(rate int) int { return int(float64(rate) * freshnessTick.Seconds()) }

// newestLog is the offset of the newest log event a read shows.
func (s *replayStand) newestLog(ctx context.Context) (offset int64, err error) {
	err = s.conn.QueryRow(ctx, "SELECT max(offset) FROM events WHERE type = 'log' AND received_at >= now64(3) - INTERVAL 40 SECOND HAVING count() > 0").Scan(&offset)
	if err != nil {
		return -1, ctx.Err() // no table or no row yet
	}
	return offset, nil
}

// pace appends requests of all replayTypes at the rate and says when the log has each.
func (s *replayStand) pace(ctx context.Context, rate int, during time.Duration, acknowledged chan<- sent) error {
	each := max(1, s.perTick(rate)/len(replayTypes))
	byType := map[schemas.Type][][]byte{}
	var parsed schemas.Batch
	if err := parsed.Parse(load.Bodies(1, each*13, load.Mixed, 1)[0]); err != nil {
		return err
	}
	for _, e := range parsed.Events {
		byType[e.Type] = append(byType[e.Type], e.Raw)
	}
	tick := time.NewTicker(freshnessTick)
	defer tick.Stop()
	for end := time.Now().Add(during); time.Now().Before(end); {
		set := eventlog.Set{Key: []byte("prj_bench"), Time: time.Now()}
		_, _ = rand.Read(set.Batch[:])
		for _, kind := range replayTypes {
			set.Values = byType[kind]
			first, err := s.log.Append(ctx, eventlog.EventsTopic(kind), 0, set)
			if err != nil {
				return err
			}
			if kind == schemas.Log {
				acknowledged <- sent{first + int64(len(set.Values)) - 1, time.Now()}
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
