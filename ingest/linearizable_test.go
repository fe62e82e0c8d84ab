package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"weir/eventlog"
	"weir/internal/broker"
	"weir/schemas"
)

// keyed is one keyed request as a client saw it.
type keyed struct {
	key    int
	answer string // body and positions of a 200; "" means that its fate is unknown
	replay bool
}

// keyHistory is what idempotency keys promise: the first request that takes
// effect decides the answer, all later ones get it, marked as a repeat. A request
// without a 200 may have taken effect, then or any time later.
var keyHistory = porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[int][]porcupine.Operation{}
		for _, op := range history {
			k := op.Input.(int)
			byKey[k] = append(byKey[k], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() []any { return []any{""} },
	Step: func(state, _, output any) []any {
		was, now := state.(string), output.(keyed)
		switch {
		case now.answer == "" && was == "":
			return []any{"", lost}
		case now.answer == "":
			return []any{was}
		case !now.replay && (was == "" || was == lost):
			// A lost one that had not written its receipt is ended by the next.
			return []any{now.answer}
		case now.replay && (was == now.answer || was == lost):
			return []any{now.answer}
		}
		return nil
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("key %v: %+v", input, output) },
}

// lost is the state after a request of unknown fate that took effect: its answer
// is fixed, but nobody has seen it yet.
const lost = "?"

// arena runs gateways on one broker, kills them and breaks their appends.
type arena struct {
	t      *testing.T
	broker *broker.Broker
	chance *lockedRand
	faults int // per cent of appends

	mu    sync.RWMutex
	sites []*gateway
	begun time.Time
}

// gateway is one process's worth: a handler and its own log.
type gateway struct {
	*Handler
	log    *eventlog.Log
	cancel context.CancelFunc
	ended  chan struct{}
}

// moody fails appends in both ways: not applied, and applied but not told.
type moody struct {
	*eventlog.Log
	arena *arena
}

func (m moody) Append(ctx context.Context, topic string, partition int, s eventlog.Set) (int64, error) {
	roll := m.arena.chance.IntN(200)
	if roll < m.arena.faults {
		return 0, fmt.Errorf("not applied: %w", eventlog.ErrUnavailable)
	}
	first, err := m.Log.Append(ctx, topic, partition, s)
	if err == nil && roll < 2*m.arena.faults {
		return 0, fmt.Errorf("applied: %w", eventlog.ErrUnavailable)
	}
	return first, err
}

func (a *arena) start(name string, moods bool) *gateway {
	quiet := slog.New(slog.DiscardHandler)
	log, err := eventlog.Open(context.Background(), eventlog.Config{
		Brokers: a.broker.Addrs(), Partitions: 3, Replication: 1, AppendTimeout: 300 * time.Millisecond, Logger: quiet,
	})
	if err != nil {
		a.t.Error(err)
		return nil
	}
	g := &gateway{log: log, ended: make(chan struct{})}
	var door Log = log
	if moods {
		door = moody{log, a}
	}
	g.Handler, err = New(Config{
		Log: door, Directory: everybody(), Gateway: name, Logger: quiet, AppendTimeout: 500 * time.Millisecond, ClaimLease: 2 * time.Second,
	})
	if err != nil {
		a.t.Error(err)
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	go func() {
		defer close(g.ended)
		_ = g.Run(ctx) // a killed one's tail ends with an error
	}()
	return g
}

// kill ends a gateway without letting it finish anything.
func (g *gateway) kill() {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = g.log.Close(now)
	g.cancel()
	<-g.ended
}

func (a *arena) site(i int) *gateway {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.sites[i%len(a.sites)]
}

// killers end gateways at random and start others, under the old name or a new one.
func (a *arena) killers(ctx context.Context) {
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(100+a.chance.IntN(500)) * time.Millisecond):
		}
		i := a.chance.IntN(len(a.sites))
		old := a.site(i)
		old.kill()
		name := fmt.Sprint("gateway-", i)
		if a.chance.IntN(2) == 0 {
			name = fmt.Sprint("gateway-", i, "-", n)
		}
		g := a.start(name, true)
		a.mu.Lock()
		a.sites[i] = g
		a.mu.Unlock()
	}
}

// ask sends a key's batch to a gateway, which may die meanwhile.
func (a *arena) ask(g *gateway, k int) keyed {
	r := post{body: keyedBody(k), key: keyNumber(k)}.request(a.t, "/api/ingest")
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	if w.Code != 200 {
		return keyed{key: k}
	}
	return keyed{k, w.Body.String() + " " + w.Header().Get(headerPosition), w.Header().Get(headerReplayed) != ""}
}

// keyedBody has a few log events and one of another type, so that a batch is more than one set.
func keyedBody(k int) string {
	var b strings.Builder
	b.WriteString(`{"events":[{"type":"deploy","ts":"2026-11-21T12:00:00Z","data":{"service":"key-` + strconv.Itoa(k) + `-","version":"1"}}`)
	for range k%5 + 1 {
		b.WriteString(`,{"type":"log","ts":"2026-11-21T12:00:00Z","data":{"message":"key-` + strconv.Itoa(k) + `-"}}`)
	}
	b.WriteString(`]}`)
	return b.String()
}

// TestLinearizable: random concurrent keyed requests over three gateways on the
// embedded log, while gateways are killed and appends fail in both ways, have
// for each key a history that one gateway serving one request at a time could
// have had; and the log holds each answered batch exactly once.
func TestLinearizable(t *testing.T) {
	seed, length := rand.Uint64(), 3*time.Second
	if s := os.Getenv("WEIR_TEST_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getenv("WEIR_SOAK") != "" {
		length = 2 * time.Minute
	}
	t.Logf("seed %d (WEIR_TEST_SEED repeats its choices, not the machine's timing)", seed)
	b, err := broker.Start(t.Context(), broker.Config{Unsynced: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	a := &arena{t: t, broker: b, chance: &lockedRand{r: rand.New(rand.NewPCG(seed, 2))}, faults: 3, begun: time.Now()}
	for i := range 3 {
		a.sites = append(a.sites, a.start(fmt.Sprint("gateway-", i), true))
	}
	history := a.run(t, length)
	for _, g := range a.sites {
		g.kill()
	}
	keys := settle(t, a, &history)
	known := 0
	for _, op := range history {
		if op.Output.(keyed).answer != "" {
			known++
		}
	}
	t.Logf("%d requests with %d keys, %d of them answered 200", len(history), keys, known)
	model := keyHistory.ToModel()
	if result, info := porcupine.CheckOperationsVerbose(model, decisive(history), time.Minute); result != porcupine.Ok {
		path := os.TempDir() + "/weir-linearizable-" + strconv.FormatUint(seed, 10) + ".html"
		_ = porcupine.VisualizePath(model, info, path)
		t.Errorf("the history is %v; drawn in %s", result, path)
	}
}

// decisive leaves out all requests of unknown fate but the first of each key. It
// may take effect at any time after its call, so it can stand for every later one,
// and the search does not try all their orders.
func decisive(history []porcupine.Operation) (kept []porcupine.Operation) {
	first := map[int]int64{}
	for _, op := range history {
		k := op.Input.(int)
		if at, known := first[k]; op.Output.(keyed).answer == "" && (!known || op.Call < at) {
			first[k] = op.Call
		}
	}
	for _, op := range history {
		if op.Output.(keyed).answer != "" || op.Call == first[op.Input.(int)] {
			kept = append(kept, op)
		}
	}
	return kept
}

const asksPerKey = 20

// run lets clients ask for a while. A few keys at a time are asked for by many at once.
func (a *arena) run(t *testing.T, length time.Duration) (history []porcupine.Operation) {
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	var mu sync.Mutex
	var clients, killer sync.WaitGroup
	asked := 0
	next := func() int {
		mu.Lock()
		defer mu.Unlock()
		asked++
		const together = 4
		return asked/(asksPerKey*together)*together + a.chance.IntN(together)
	}
	for client := range 12 {
		clients.Go(func() {
			for ctx.Err() == nil {
				k, g := next(), a.site(a.chance.IntN(3))
				call := a.now()
				got := a.ask(g, k)
				op := porcupine.Operation{ClientId: client, Input: k, Call: call, Output: got, Return: a.now()}
				if got.answer == "" {
					op.Return = 1 << 62                                               // it may yet take effect
					<-time.After(time.Duration(a.chance.IntN(30)) * time.Millisecond) // the gateway sheds for a moment after a fault
				}
				mu.Lock()
				history = append(history, op)
				mu.Unlock()
			}
		})
	}
	killer.Go(func() { a.killers(ctx) })
	clients.Wait()
	stop()
	killer.Wait()
	return history
}

func (a *arena) now() int64 { return int64(time.Since(a.begun)) }

// settle asks a healthy gateway for every key until it answers, and compares the log with the answers.
func settle(t *testing.T, a *arena, history *[]porcupine.Operation) (keys int) {
	g := a.start("last", false)
	defer g.kill()
	wait := time.NewTicker(20 * time.Millisecond)
	defer wait.Stop()
	seen := map[int]bool{}
	for _, op := range *history {
		seen[op.Input.(int)] = true
	}
	for k := range seen {
		call := a.now()
		got := a.ask(g, k)
		for ; got.answer == ""; got = a.ask(g, k) {
			if t.Context().Err() != nil {
				t.FailNow()
			}
			<-wait.C
		}
		*history = append(*history, porcupine.Operation{ClientId: 99, Input: k, Call: call, Output: got, Return: a.now()})
	}
	counts := map[string]int{}
	for _, r := range (&portal{log: g.log}).kept(t) {
		e, err := schemas.Open(r.Value)
		if err != nil {
			t.Error(err)
			continue
		}
		name := "message"
		if e.Type == schemas.Deploy {
			name = "service"
		}
		value, _ := schemas.Member(e.Data, name)
		counts[e.Type.String()+string(value)]++
	}
	for k := range seen {
		logs, deploys := counts[fmt.Sprintf(`log"key-%d-"`, k)], counts[fmt.Sprintf(`deploy"key-%d-"`, k)]
		if logs != k%5+1 || deploys != 1 {
			t.Errorf("key %d: %d log and %d deploy events are in the log, want %d and 1", k, logs, deploys, k%5+1)
		}
	}
	return len(seen)
}
