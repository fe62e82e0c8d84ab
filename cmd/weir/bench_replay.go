package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/eventlog"
	"weir/internal/clickhouse"
	"weir/internal/load"
	"weir/internal/native"
	"weir/projections"
	"weir/readmodel"
	"weir/readmodel/tables"
	"weir/schemas"
)

// benchReplayCmd measures how fast projections fold a log that is there already. The broker and
// ClickHouse are processes of their own; the projector is this process.
type benchReplayCmd struct {
	Events      int      `help:"Events of each type that is appended: log, error, webhook, cost." default:"393216"`
	Only        []string `name:"projection" help:"Projections to measure; without any: history, errorgroups, deliveries, costs." placeholder:"NAME,…"`
	KafkaEngine bool     `help:"Measure ClickHouse's own Kafka table engine with materialized views on the same records and broker, too."`
	Runs        int      `help:"Runs of each, in turn; the medians are reported beside them." default:"1"`
	Out         string   `help:"File for the table, Markdown; needs --kafka-engine." placeholder:"FILE"`
	Cache       string   `help:"Cache folder of the fetched ClickHouse engine." env:"WEIR_CACHE_DIR" default:"${cache_dir}" placeholder:"DIR"`
	Program     string   `name:"clickhouse-program" help:"clickhouse program to run." env:"WEIR_CLICKHOUSE_PROGRAM" placeholder:"PATH"`
	Profile     string   `name:"cpuprofile" help:"File for a CPU profile of the projector." placeholder:"FILE"`
	JSON        bool     `name:"json" help:"Print each measurement as a JSON line."`
}

// What filled the read model.
const (
	engineWeir  = "weir"
	engineKafka = "kafka_engine"
)

// replayReport is one measurement, or the median of several.
type replayReport struct {
	Projection       string  `json:"projection"`
	Engine           string  `json:"engine"` // weir, or kafka_engine for ClickHouse by itself
	Median           bool    `json:"median,omitempty"`
	Records          int64   `json:"records"`
	Seconds          float64 `json:"seconds"`
	RecordsPerSecond float64 `json:"records_per_second"`
	MBPerSecond      float64 `json:"mb_per_second"` // 10^6 bytes of record values
	// CPU-seconds per million records.
	ProjectorCPU  float64 `json:"projector_cpu_seconds_per_million"`
	ClickHouseCPU float64 `json:"clickhouse_cpu_seconds_per_million"`
	BrokerCPU     float64 `json:"broker_cpu_seconds_per_million"`
}

// of is the report when only so many of its records had arrived by the time it was taken.
func (r replayReport) of(records int64) replayReport {
	share := float64(records) / float64(r.Records)
	r.Records = records
	r.RecordsPerSecond, r.MBPerSecond = r.RecordsPerSecond*share, r.MBPerSecond*share
	r.ProjectorCPU, r.ClickHouseCPU, r.BrokerCPU = r.ProjectorCPU/share, r.ClickHouseCPU/share, r.BrokerCPU/share
	return r
}

// cpu is of the projector and ClickHouse together.
func (r replayReport) cpu() float64 { return r.ProjectorCPU + r.ClickHouseCPU }

// replayTypes are the types that are appended.
var replayTypes = []schemas.Type{schemas.Log, schemas.Error, schemas.Webhook, schemas.Cost}

// replayStand is what replays run on.
type replayStand struct {
	folder    string
	broker    *benchProcess
	log       *eventlog.Log
	engine    *clickhouse.Server
	conn      driver.Conn
	blocks    *native.Pool
	bytes     map[string]int64 // of record values, by topic
	kafkaRuns int
}

func (c *benchReplayCmd) Run(ctx context.Context, t *terminal) error {
	if least := 4 * kafkaEngineBlock; c.Events < 1000 || c.KafkaEngine && c.Events < least || c.Runs < 1 {
		return usagef("--runs must be at least 1, --events at least 1000, and %d with --kafka-engine", least)
	}
	if c.Out != "" && !c.KafkaEngine {
		return usagef("--out needs --kafka-engine")
	}
	if len(c.Only) == 0 {
		c.Only = []string{readmodel.History, readmodel.ErrorGroups, readmodel.Deliveries, readmodel.Costs}
	}
	s, err := c.start(ctx)
	defer s.close()
	if err != nil {
		return err
	}
	t.notef("appending %d events of each of %d types\n", c.Events, len(replayTypes))
	if err := s.fill(ctx, c.Events); err != nil {
		return err
	}
	return profiled(c.Profile, func() error { return c.all(ctx, t, s) })
}

// all measures in turn, so that what else the machine does falls on all, and every other time the other way round.
func (c *benchReplayCmd) all(ctx context.Context, t *terminal, s *replayStand) error {
	runs := map[[2]string][]replayReport{}
	for n := range c.Runs {
		for _, name := range c.Only {
			engines := []string{engineWeir, engineKafka}
			if n%2 == 1 {
				slices.Reverse(engines)
			}
			for _, engine := range engines {
				report, err := c.once(ctx, s, name, engine)
				if errors.Is(err, errNoKafkaEngine) {
					continue
				}
				if err != nil {
					return fmt.Errorf("replay of %s by %s: %w", name, engine, err)
				}
				c.show(t, report)
				runs[[2]string{name, engine}] = append(runs[[2]string{name, engine}], report)
			}
		}
	}
	medians := map[[2]string]replayReport{}
	for of, reports := range runs {
		medians[of] = medianReplay(reports)
	}
	if c.Runs > 1 {
		for _, name := range c.Only {
			for _, engine := range []string{engineWeir, engineKafka} {
				if m, ok := medians[[2]string{name, engine}]; ok {
					c.show(t, m)
				}
			}
		}
	}
	if c.Out == "" {
		return nil
	}
	return writeSection(c.Out, "replay", replayTable(medians, c))
}

func (c *benchReplayCmd) once(ctx context.Context, s *replayStand, name, engine string) (replayReport, error) {
	if engine == engineKafka {
		if !c.KafkaEngine {
			return replayReport{}, errNoKafkaEngine
		}
		return s.kafkaEngine(ctx, name)
	}
	for _, projection := range allProjections() {
		if projection.Name == name {
			return s.replay(ctx, projection)
		}
	}
	return replayReport{}, usagef("there is no projection %s", name)
}

func (c *benchReplayCmd) show(t *terminal, r replayReport) {
	if c.JSON {
		_ = t.json(r)
		return
	}
	what := r.Engine
	if r.Median {
		what += " (median)"
	}
	t.printf("%-12s %-21s %9.0f records/s %6.1f MB/s   CPU-seconds per million: projector %.2f, ClickHouse %.2f, broker %.2f   (%d records, %.1f s)\n",
		r.Projection, what, r.RecordsPerSecond, r.MBPerSecond, r.ProjectorCPU, r.ClickHouseCPU, r.BrokerCPU, r.Records, r.Seconds)
}

func (c *benchReplayCmd) start(ctx context.Context) (*replayStand, error) {
	s := &replayStand{bytes: map[string]int64{}}
	var err error
	if s.folder, err = os.MkdirTemp("", "weir-bench-"); err != nil {
		return s, err
	}
	if s.broker, err = startBench(ctx, nil, "bench", "broker", "--data", filepath.Join(s.folder, "log")); err != nil {
		return s, fmt.Errorf("start the broker: %w", err)
	}
	quiet := slog.New(slog.DiscardHandler)
	if s.log, err = eventlog.Open(ctx, eventlog.Config{Brokers: []string{s.broker.said["addr"]}, Embedded: true, Logger: quiet}); err != nil {
		return s, err
	}
	s.engine, err = clickhouse.Start(ctx, clickhouse.Config{
		DataDir: filepath.Join(s.folder, "clickhouse"), CacheDir: c.Cache, Program: c.Program, Progress: io.Discard, Logger: quiet,
		Databases: []string{"default"}, Grants: []string{"TABLE ENGINE ON Kafka", "KAFKA ON *.*"},
	})
	if err != nil {
		return s, err
	}
	at := s.engine.Access()
	s.blocks = native.Open(native.Config{Addrs: []string{at.Addr}, Database: "default", Username: at.User, Password: at.Password})
	s.conn, err = readmodel.Connect(readmodel.ConnectConfig{
		Addrs: []string{at.Addr}, Database: "default", Username: at.User, Password: at.Password, MaxConns: projectorConns, ReadTimeout: projections.AnswerTimeout,
	})
	return s, err
}

func (s *replayStand) close() {
	ctx, cancel := context.WithTimeout(context.Background(), benchEndTime)
	defer cancel()
	if s.conn != nil {
		_ = s.conn.Close()
	}
	if s.blocks != nil {
		s.blocks.Close()
	}
	if s.engine != nil {
		_ = s.engine.Close(ctx)
	}
	if s.log != nil {
		_ = s.log.Close(ctx)
	}
	if s.broker != nil {
		s.broker.end()
	}
	_ = os.RemoveAll(s.folder)
}

// fill appends events of each type, as a gateway would, in batches of a thousand.
func (s *replayStand) fill(ctx context.Context, events int) error {
	const batch = 1000 * 13 // a thousand of each of the thirteen types
	bodies := load.Bodies(4, batch, load.Mixed, 1)
	byType := make([]map[schemas.Type][][]byte, len(bodies))
	for i, body := range bodies {
		var parsed schemas.Batch
		if err := parsed.Parse(body); err != nil {
			return err
		}
		byType[i] = map[schemas.Type][][]byte{}
		for _, e := range parsed.Events {
			byType[i][e.Type] = append(byType[i][e.Type], e.Raw)
		}
	}
	for n := 0; n < events; n += 1000 {
		for _, kind := range replayTypes {
			values := byType[n/1000%len(byType)][kind]
			set := eventlog.Set{Key: fmt.Appendf(nil, "prj_bench%02d", n/1000%10), Time: time.Now(), Values: values[:min(len(values), events-n)]}
			_, _ = rand.Read(set.Batch[8:])
			binary.BigEndian.PutUint64(set.Batch[:], uint64(n))
			topic := eventlog.EventsTopic(kind)
			if _, err := s.log.Append(ctx, topic, s.log.PartitionFor(topic, set.Batch), set); err != nil {
				return err
			}
			for _, v := range set.Values {
				s.bytes[topic] += int64(len(v))
			}
		}
	}
	return nil
}

// replay folds a projection's topics from their first offsets to their ends, into fresh tables.
func (s *replayStand) replay(ctx context.Context, projection projections.Projection) (replayReport, error) {
	until, records, bytes, err := s.ends(ctx, projection.Topics)
	if err != nil {
		return replayReport{}, err
	}
	for _, table := range projection.Tables {
		if err := s.conn.Exec(ctx, tables.Drop(table.Name)); err != nil {
			return replayReport{}, err
		}
	}
	quiet := slog.New(slog.DiscardHandler)
	watched := []projections.Projection{projection}
	projector, err := projections.New(projections.Config{Log: s.log, ClickHouse: s.conn, Blocks: s.blocks, Projections: watched, Logger: quiet})
	if err != nil {
		return replayReport{}, err
	}
	monitor := projections.NewMonitor(s.log, s.conn, watched, quiet, nil)
	return s.measure(projection.Name, records, bytes, func() error {
		running, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- projector.Run(running) }()
		err := monitor.Wait(ctx, projection.Name, until)
		stop()
		<-done
		return err
	})
}

func (s *replayStand) ends(ctx context.Context, topics []string) (until eventlog.Positions, records, bytes int64, err error) {
	for _, topic := range topics {
		bounds, err := s.log.Bounds(ctx, topic)
		if err != nil {
			return nil, 0, 0, err
		}
		for _, b := range bounds {
			if b.End > b.Start {
				until = append(until, eventlog.Position{Topic: topic, Partition: b.Partition, Next: b.End})
				records += b.End - b.Start
			}
		}
		bytes += s.bytes[topic]
	}
	return until, records, bytes, nil
}

// measure times run and reads the processor time of all processes around it.
func (s *replayStand) measure(projection string, records, bytes int64, run func() error) (replayReport, error) {
	runtime.GC()
	before, err := s.cpu()
	if err != nil {
		return replayReport{}, err
	}
	began := time.Now()
	if err := run(); err != nil {
		return replayReport{}, err
	}
	seconds := time.Since(began).Seconds()
	after, err := s.cpu()
	perMillion := func(i int) float64 { return (after[i] - before[i]).Seconds() / (float64(records) / 1e6) }
	return replayReport{
		Projection: projection, Engine: engineWeir, Records: records, Seconds: seconds,
		RecordsPerSecond: float64(records) / seconds, MBPerSecond: float64(bytes) / 1e6 / seconds,
		ProjectorCPU: perMillion(0), ClickHouseCPU: perMillion(1), BrokerCPU: perMillion(2),
	}, err
}

// cpu is what the projector, ClickHouse and the broker have used.
func (s *replayStand) cpu() (used [3]time.Duration, err error) {
	for i, pid := range []int{os.Getpid(), s.engine.PID(), s.broker.pid} {
		if used[i], err = load.ProcessCPU(pid); err != nil {
			return used, err
		}
	}
	return used, nil
}
