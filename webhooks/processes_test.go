package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir/eventlog"
	"weir/integration/engines"
)

// asDispatcher makes this test binary a dispatcher: it runs a lane until its standard input ends.
const asDispatcher = "WEIR_TEST_DISPATCHER"

// orders are what a dispatcher is told to do.
type orders struct {
	Name      string // sent with each attempt as X-Dispatcher
	Brokers   []string
	Embedded  bool
	Endpoints map[string]string // id → URL
}

// dispatcherSession is how long a dispatcher may be silent before another takes its partitions.
const dispatcherSession = 6 * time.Second

func (o orders) open() (*eventlog.Log, error) {
	return eventlog.Open(context.Background(), eventlog.Config{
		Brokers: o.Brokers, Embedded: o.Embedded, Partitions: 6, Replication: 1, Topics: topicsFor(quickDelays),
		SessionTimeout: dispatcherSession, Logger: slog.New(slog.DiscardHandler),
	})
}

func (o orders) book() *book {
	b := newBook()
	for id, url := range o.Endpoints {
		b.add(id, KindHTTP, url, func(ep *Endpoint) {
			ep.Headers = map[string]func() string{"X-Dispatcher": func() string { return o.Name }}
		})
	}
	return b
}

// dispatch is the main function of a dispatcher.
func dispatch(text string) error {
	var o orders
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	log, err := o.open()
	if err != nil {
		return err
	}
	defer func() { _ = log.Close(context.Background()) }()
	b := o.book()
	l, err := New(Config{Log: log, Directory: b, Health: b, Guard: loopback, Delays: quickDelays,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return l.Run(ctx)
}

// dispatcher is a process that delivers.
type dispatcher struct {
	orders
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	broken []time.Time // when it was killed or paused
}

func (o orders) start(t *testing.T) *dispatcher {
	t.Helper()
	text, _ := json.Marshal(o)
	d := &dispatcher{orders: o, cmd: exec.Command(os.Args[0])}
	d.cmd.Env = append(os.Environ(), asDispatcher+"="+string(text))
	d.cmd.Stderr = t.Output()
	var err error
	if d.stdin, err = d.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill() })
	return d
}

// kill ends it as a power cut would.
func (d *dispatcher) kill() {
	d.broken = append(d.broken, time.Now())
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
}

func (d *dispatcher) signal(t *testing.T, s syscall.Signal) {
	if err := d.cmd.Process.Signal(s); err != nil {
		t.Errorf("%v: %v", s, err)
	}
}

// stop lets it finish.
func (d *dispatcher) stop(t *testing.T) {
	_ = d.stdin.Close()
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("dispatcher %s: %v", d.Name, err)
	}
}

// arrival is one request that a receiver got.
type arrival struct {
	by     string // dispatcher
	at     time.Time
	status int
}

// ledger is what the receivers got, by delivery.
type ledger struct {
	mu        sync.Mutex
	got       map[string][]arrival
	succeeded int
	want      int
	all       chan struct{} // closed when every delivery succeeded
	random    *rand.Rand
}

// answer fails one request in ten, by chance, and takes its time for one in thirty, so
// that something is in flight whenever a dispatcher is killed.
func (l *ledger) answer(w http.ResponseWriter, r *http.Request, _ int) {
	status, slow := l.take(r)
	if slow {
		time.Sleep(500 * time.Millisecond)
	}
	w.WriteHeader(status)
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.succeeded
}

func (l *ledger) take(r *http.Request) (code int, slow bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, status := r.Header.Get("webhook-id"), http.StatusOK
	had := len(l.got[id]) > 0 && l.got[id][len(l.got[id])-1].status == http.StatusOK
	if !had && len(l.got[id]) < 2 && l.random.IntN(10) == 0 {
		status = http.StatusServiceUnavailable
	}
	l.got[id] = append(l.got[id], arrival{r.Header.Get("X-Dispatcher"), time.Now(), status})
	if status == http.StatusOK && !had {
		if l.succeeded++; l.succeeded == l.want {
			close(l.all)
		}
	}
	return status, l.random.IntN(30) == 0
}

// Several dispatchers, each a process of its own, share the lane while they are killed
// and paused at random: nothing is lost, what the history tells is what the receivers
// saw, and what they saw beyond it was in flight when one was killed or paused.
func TestDispatcherProcesses(t *testing.T) {
	shares := []int{2}
	if os.Getenv("WEIR_SOAK") != "" { // on Apache Kafka there are three each time
		shares = append(shares, 3)
	}
	for _, n := range shares {
		t.Run(strconv.Itoa(n), func(t *testing.T) { shareAndBreak(t, startBroker(t).Addrs(), true, n) })
	}
}

// The same on Apache Kafka.
func TestDispatcherProcessesOnKafka(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Apache Kafka")
	}
	shareAndBreak(t, engines.Kafka(t, 1).Brokers(), false, 3)
}

func shareAndBreak(t *testing.T, brokers []string, embedded bool, processes int) {
	occasions, breaks := 120, 4
	const endpoints = 5
	if n, _ := strconv.Atoi(os.Getenv("WEIR_SOAK")); n > 1 { // WEIR_SOAK=20000 is 100,000 deliveries
		occasions, breaks = n, max(breaks, n/1000)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	seen := &ledger{got: map[string][]arrival{}, want: occasions * endpoints, all: make(chan struct{}), random: rand.New(rand.NewPCG(seed, 1))}
	r := newReceiver(t, seen.answer)
	go func() {
		for range r.got { // nobody else takes them
		}
	}()
	t.Cleanup(func() { r.Close(); close(r.got) })
	o := orders{Brokers: brokers, Embedded: embedded, Endpoints: map[string]string{}}
	for i := range endpoints {
		o.Endpoints[fmt.Sprintf("ep_%d", i)] = r.URL
	}
	log, err := o.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close(context.Background()) })
	d := NewDecider(log, o.book(), nil)
	// Some is owed from the start, and as much again after each break, so that all
	// breaks come while there is work.
	var ids []string
	var deciding sync.WaitGroup
	var mu sync.Mutex
	owe := func(n int) {
		deciding.Go(func() {
			more := decide(t, d, n, Occasion{Type: "deploy.succeeded"})
			mu.Lock()
			ids = append(ids, more...)
			mu.Unlock()
		})
	}
	part := occasions / (breaks + 1)
	owe(occasions - breaks*part)
	names := 0
	fresh := func() *dispatcher {
		names++
		one := o
		one.Name = strconv.Itoa(names)
		return one.start(t)
	}
	var running, ended []*dispatcher
	for range processes {
		running = append(running, fresh())
	}
	began := time.Now()
	kills, pauses := 0, 0
	due := part * endpoints / 4 // so many have arrived when the next break comes: there is work under way
	for done := false; !done; {
		select {
		case <-seen.all:
			done = true
		case <-time.After(20 * time.Millisecond): // the breaks' own pace
			if kills+pauses == breaks || seen.count() < due {
				break
			}
			due += part*endpoints/2 + random.IntN(part*endpoints/2)
			owe(part)
			i := random.IntN(len(running))
			if random.IntN(3) > 0 {
				kills++
				running[i].kill()
				ended = append(ended, running[i])
				running[i] = fresh()
				break
			}
			pauses++ // for longer than the others wait for it
			running[i].broken = append(running[i].broken, time.Now())
			running[i].signal(t, syscall.SIGSTOP)
			time.Sleep(dispatcherSession + time.Duration(random.IntN(2000))*time.Millisecond)
			running[i].signal(t, syscall.SIGCONT)
		}
		if time.Since(began) > time.Duration(occasions)*endpoints*10*time.Millisecond+4*time.Minute {
			t.Errorf("%d of %d deliveries arrived", seen.succeeded, seen.want)
			break
		}
	}
	deciding.Wait()
	took := time.Since(began)
	for _, one := range running {
		one.stop(t)
		ended = append(ended, one)
	}
	final := o
	final.Name = "last"
	l := startLane(t, log, final.book()) // ends what the others had in hand
	byID := await(t, log, ids...)
	l.stop()
	// Apache Kafka moves partitions when a member's session ends. The embedded broker,
	// which in earnest has one process only, may also take them from a member later,
	// while its group settles.
	settling := dispatcherSession + time.Second
	if embedded {
		settling = time.Minute
	}
	seen.compare(t, byID, ids, ended, settling)
	t.Logf("%d deliveries by %d processes in %v, %d kills and %d pauses", len(ids), processes, took.Round(time.Second), kills, pauses)
}

// inHand is more than an attempt and its record take, on a machine under load.
const inHand = 10 * time.Second

// compare holds the history against what the receivers got.
func (l *ledger) compare(t *testing.T, byID map[string][]attempt, ids []string, dispatchers []*dispatcher, settling time.Duration) {
	t.Helper()
	var breaks []time.Time // each moves partitions, of all dispatchers
	for _, d := range dispatchers {
		breaks = append(breaks, d.broken...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	repeats, twice, attempts := 0, 0, 0
	for _, id := range ids {
		got := l.got[id]
		inFlight := 0 // attempts whose record may not have been in the log when partitions moved
		for _, a := range got {
			if slices.ContainsFunc(breaks, func(at time.Time) bool { return a.at.Before(at.Add(settling)) && at.Sub(a.at) < inHand }) {
				inFlight++
			}
		}
		codes, numbers, events := map[int]int{}, map[int]bool{}, map[[16]byte]bool{}
		for _, a := range byID[id] {
			if events[a.record.EventID()] { // of a pause: the same event appended twice
				twice++
				continue
			}
			if events[a.record.EventID()] = true; numbers[a.Attempt] {
				t.Errorf("%s: attempt %d is twice in the history", id, a.Attempt)
			}
			numbers[a.Attempt] = true
			codes[a.StatusCode]++
		}
		for _, a := range got {
			codes[a.status]--
		}
		extra := len(got) - len(events)
		attempts += len(events)
		if extra < 0 || extra > inFlight || codes[http.StatusOK] > 0 || codes[http.StatusServiceUnavailable] > 0 {
			t.Errorf("%s: the receiver got %v, the history has %d attempts; %d can have been in flight", id, got, len(events), inFlight)
		}
		repeats += max(extra, 0)
		if len(got) == 0 {
			t.Errorf("%s was lost", id)
		}
	}
	t.Logf("%d attempts, %d repeated by the rule, %d recorded twice under one event id", attempts, repeats, twice)
}

// asked runs this process as a dispatcher when that is what it was started for.
func asked() {
	text := os.Getenv(asDispatcher)
	if text == "" {
		return
	}
	if err := dispatch(text); err != nil && !errors.Is(err, eventlog.ErrClosed) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
