package ingest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/eventlog"
	"weir/ingest/internal/logtest"
	"weir/ingest/limits"
	"weir/schemas"
)

// mixedBatch has events of three types, two of a kind, and one that is rejected.
const mixedBatch = `{"events":[
{"type":"log","ts":"2026-11-21T12:00:00Z","data":{"message":"a"}},
{"type":"deploy","ts":"2026-11-21T12:00:00Z","data":{"service":"s","version":"1"}},
{"type":"audit","ts":"2026-11-21T12:00:00Z","data":{"action":"x"}},
{"type":"log","ts":"2026-11-21T12:00:00Z","data":{"message":"b"}},
{"type":"cost","ts":"2026-11-21T12:00:00Z","data":{"service":"s","amount":1.25,"currency":"EUR"}}]}`

const mixedAnswer = `{"accepted":4,"rejected":[{"index":2,"reason":"data.actor: required"}]}`

// oneEffect fails when the log does not hold each of the batch's events exactly once.
func oneEffect(t testing.TB, l *logtest.Log, want ...int) {
	t.Helper()
	seen := map[int]int{}
	batches := map[[16]byte]bool{}
	for _, r := range events(l) {
		seen[r.Index]++
		batches[r.Batch] = true
	}
	for _, index := range want {
		if seen[index] != 1 {
			t.Errorf("event %d is in the log %d times", index, seen[index])
		}
		delete(seen, index)
	}
	if len(seen) > 0 || len(batches) > 1 {
		t.Errorf("also in the log: %v; batch ids: %d", seen, len(batches))
	}
}

// A keyed batch of three types makes five appends: claim, three sets, receipt.
// The gateway is killed before and after each of them; then the client repeats
// the batch, at the restarted gateway or at another one after the lease.
func TestCrashAtEveryStep(t *testing.T) {
	for step := range 5 {
		for _, applied := range []bool{false, true} {
			for _, again := range []string{"one", "two"} {
				t.Run(fmt.Sprintf("step %d, applied %v, repeated at %s", step, applied, again), func(t *testing.T) {
					crashAndRepeat(t, int64(step), applied, again)
				})
			}
		}
	}
}

func crashAndRepeat(t *testing.T, step int64, applied bool, again string) {
	log, clock := crashed(t, step, applied)
	if again != "one" {
		clock.Add(46 * time.Second)
	}
	second := joinDoor(t, log, func(c *Config) { c.Now, c.Gateway = clock.Now, again })
	repeat := second.do(t, post{body: mixedBatch, key: someKey})
	if repeat.status != 200 || repeat.body != mixedAnswer {
		t.Fatal("the repeat got", repeat)
	}
	oneEffect(t, log, 0, 1, 3, 4)
	last := joinDoor(t, log, func(c *Config) { c.Now, c.Gateway = clock.Now, "three" }).do(t, post{body: "other", key: someKey})
	if last.body != repeat.body || last.header.Get(headerPosition) != repeat.header.Get(headerPosition) || last.header.Get(headerReplayed) != "true" {
		t.Errorf("a third one got %v %v, the second %v", last, last.header, repeat.header)
	}
	oneEffect(t, log, 0, 1, 3, 4)
}

// crashed is a log in which a gateway left the mixed batch at that step, which
// was applied or not.
func crashed(t *testing.T, step int64, applied bool) (*logtest.Log, *fakeClock) {
	t.Helper()
	log, clock := logtest.New(2), newFakeClock()
	first := joinDoor(t, log, func(c *Config) { c.Now = clock.Now })
	dieAt(first, step, applied)
	if got := first.do(t, post{body: mixedBatch, key: someKey}); got.status != 503 {
		t.Fatal("the crashed gateway answered", got)
	}
	first.stop()
	return log, clock
}

// A key is used again with another body after its first gateway died at any step.
// What the log holds of the first body decides: all of it, and its answer is the
// key's; nothing, and the other body is the first; a part, and only the first body
// can be ended. Never does one body's answer stand for the other's events.
func TestOtherBodyAfterACrash(t *testing.T) {
	seen := map[int]bool{}
	for step := range 5 {
		for _, applied := range []bool{false, true} {
			for _, again := range []string{"one", "two"} {
				t.Run(fmt.Sprintf("step %d, applied %v, repeated at %s", step, applied, again), func(t *testing.T) {
					seen[otherBody(t, int64(step), applied, again)] = true
				})
			}
		}
	}
	if !seen[0] || !seen[4] || len(seen) < 3 {
		t.Errorf("not every case was met: %v events of the first body in the log", seen)
	}
}

func otherBody(t *testing.T, step int64, applied bool, again string) (kept int) {
	log, clock := crashed(t, step, applied)
	clock.Add(46 * time.Second)
	kept = len(events(log))
	// Types that the first body has, too, and one that it has not.
	other := strings.NewReplacer(`"a"`, `"another"`, `"cost"`, `"trace"`, `"service":"s","amount":1.25,"currency":"EUR"`, `"traceId":"1","spanId":"2","name":"n"`).Replace(mixedBatch)
	d := joinDoor(t, log, func(c *Config) { c.Now, c.Gateway = clock.Now, again })
	got := d.do(t, post{body: other, key: someKey})
	held := 0
	for _, r := range events(log) {
		if strings.Contains(string(r.Value), `"another"`) || r.Topic == eventlog.EventsTopic(schemas.Trace) {
			held++
		}
	}
	switch kept {
	case 0:
		if got.status != 200 || got.header.Get(headerReplayed) != "" || held != 2 {
			t.Errorf("nothing of the first body is in the log; the other got %v, %d of its events are there", got, held)
		}
		oneEffect(t, log, 0, 1, 3, 4)
		return kept
	case 4:
		if got.status != 200 || got.body != mixedAnswer || got.header.Get(headerReplayed) != "true" || got.header.Get(headerPosition) == "" {
			t.Errorf("all of the first body is in the log; the other got %v %v", got, got.header)
		}
	default:
		if got.status != 400 || got.code != "idempotency_key_in_use" {
			t.Errorf("a part of the first body is in the log; the other got %v", got)
		}
	}
	if held != 0 {
		t.Errorf("%d events of the other body are in the log", held)
	}
	if got := d.do(t, post{body: mixedBatch, key: someKey}); got.status != 200 || got.body != mixedAnswer {
		t.Errorf("the first body again got %v", got)
	}
	oneEffect(t, log, 0, 1, 3, 4)
	return kept
}

// The gateway that was to end another body dies, too, between any two steps; then
// the first body comes again.
func TestCrashWhileEndingAnotherBody(t *testing.T) {
	for first := range 5 {
		for second := range 6 {
			for _, applied := range []bool{false, true} {
				log, clock := crashed(t, int64(first), true)
				clock.Add(46 * time.Second)
				d := joinDoor(t, log, func(c *Config) { c.Now, c.Gateway = clock.Now, "two" })
				dieAt(d, int64(second), applied)
				other := strings.ReplaceAll(mixedBatch, `"a"`, `"another"`)
				d.do(t, post{body: other, key: someKey})
				d.stop()
				clock.Add(46 * time.Second)
				last := joinDoor(t, log, func(c *Config) { c.Now, c.Gateway = clock.Now, "three" })
				got := last.do(t, post{body: mixedBatch, key: someKey})
				if got.status == 400 { // then it is the other one that was begun
					got = last.do(t, post{body: other, key: someKey})
				}
				if got.status != 200 || got.body != mixedAnswer {
					t.Errorf("crashes at %d and %d (applied %v): got %v", first, second, applied, got)
				}
				oneEffect(t, log, 0, 1, 3, 4)
			}
		}
	}
}

// dieAt kills a gateway at its step-th append.
func dieAt(d *door, step int64, applied bool) {
	var steps atomic.Int64
	crash := func(string) error {
		if steps.Add(1)-1 != step {
			return nil
		}
		d.client.Kill()
		return fmt.Errorf("crash: %w", eventlog.ErrUnavailable)
	}
	if applied {
		d.client.After = crash
	} else {
		d.client.Before = crash
	}
}

// Before the lease has ended another gateway does not touch the batch.
func TestLiveClaimIsLeftAlone(t *testing.T) {
	log, clock := logtest.New(1), newFakeClock()
	first := joinDoor(t, log, func(c *Config) { c.Now = clock.Now })
	first.client.After = func(string) error { first.client.Kill(); return eventlog.ErrUnavailable }
	first.do(t, post{body: mixedBatch, key: someKey})
	second := joinDoor(t, log, func(c *Config) {
		c.Now, c.Gateway, c.AppendTimeout = clock.Now, "two", 10*time.Millisecond
	})
	got := second.do(t, post{body: mixedBatch, key: someKey})
	if got.status != 503 || got.header.Get("Retry-After") == "" || len(events(log)) != 0 {
		t.Errorf("got %v with %d events in the log", got, len(events(log)))
	}
}

// An owner that is slower than its lease answers with what its successor wrote.
func TestSlowOwnerAnswersAsItsSuccessor(t *testing.T) {
	log, clock := logtest.New(2), newFakeClock()
	slow := joinDoor(t, log, func(c *Config) { c.Now = clock.Now })
	var appends atomic.Int64
	stuck, leave := make(chan struct{}), make(chan struct{})
	slow.client.Before = func(string) error {
		if appends.Add(1) == 5 {
			close(stuck)
			<-leave
		}
		return nil
	}
	slowly := make(chan reply)
	go func() { slowly <- slow.do(t, post{body: mixedBatch, key: someKey}) }()
	<-stuck
	clock.Add(46 * time.Second)
	quick := joinDoor(t, log, func(c *Config) { c.Now, c.Gateway = clock.Now, "two" })
	want := quick.do(t, post{body: mixedBatch, key: someKey})
	close(leave)
	got := <-slowly
	if want.status != 200 || got.body != want.body || got.header.Get(headerPosition) != want.header.Get(headerPosition) {
		t.Errorf("slow %v %v, quick %v %v", got, got.header, want, want.header)
	}
	oneEffect(t, log, 0, 1, 3, 4)
}

func TestConcurrentRepeats(t *testing.T) {
	log := logtest.New(2)
	doors := []*door{joinDoor(t, log), joinDoor(t, log, func(c *Config) { c.Gateway = "two" })}
	replies := make([]reply, 16)
	var all sync.WaitGroup
	for i := range replies {
		all.Go(func() { replies[i] = doors[i%2].do(t, post{body: mixedBatch, key: someKey}) })
	}
	all.Wait()
	fresh := 0
	for _, r := range replies {
		if r.status != 200 || r.body != mixedAnswer {
			t.Errorf("got %v", r)
		}
		if r.header.Get(headerReplayed) == "" {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("%d answers do not say that they are repeats, want 1", fresh)
	}
	oneEffect(t, log, 0, 1, 3, 4)
}

func TestKeyExpires(t *testing.T) {
	clock := newFakeClock()
	d := newDoor(t, func(c *Config) { c.Now = clock.Now })
	d.do(t, post{body: oneLog, key: someKey})
	clock.Add(24*time.Hour - time.Second)
	if got := d.do(t, post{body: oneLog, key: someKey}); got.header.Get(headerReplayed) == "" {
		t.Error("forgotten before 24 h:", got)
	}
	clock.Add(time.Second)
	if got := d.do(t, post{body: oneLog, key: someKey}); got.status != 200 || got.header.Get(headerReplayed) != "" {
		t.Error("remembered after 24 h:", got)
	}
	all := events(d.log)
	if len(all) != 2 || all[0].Batch == all[1].Batch {
		t.Errorf("%d events, or the same id twice", len(all))
	}
}

// A repeat costs no events; neither does a batch that the log did not take.
func TestRepeatsCostNothing(t *testing.T) {
	clock := newFakeClock()
	d := newDoor(t, func(c *Config) { c.Now, c.Rates = clock.Now, limits.Rates{EventsPerSecond: 10} })
	for range 20 {
		if got := d.do(t, post{body: mixedBatch, key: someKey}); got.status != 200 || !strings.Contains(got.header["RateLimit"][0], "r=5;") {
			t.Fatal(got, got.header)
		}
	}
	d.client.Before = func(string) error { return eventlog.ErrOverloaded }
	for range 20 {
		if got := d.do(t, post{body: mixedBatch}); got.status != 503 {
			t.Fatal(got)
		}
	}
}

// Only requests with a key must wait for the receipts.
func TestKeysWaitForTheReceipts(t *testing.T) {
	h, err := New(Config{Log: logtest.New(1).Client(), Directory: everybody(), Gateway: "one"})
	if err != nil {
		t.Fatal(err)
	}
	d := &door{Handler: h}
	if h.Ready() == nil {
		t.Error("ready before the receipts were read")
	}
	if got := d.do(t, post{body: oneLog, key: someKey}); got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Error("with a key:", got)
	}
	if got := d.do(t, post{body: oneLog}); got.status != 200 {
		t.Error("without a key:", got)
	}
}

// What failed before anything was sent can be repeated at once; what may still
// land is held until it can't.
func TestRepeatAfterFailedAppend(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		wait time.Duration
	}{
		{"shed", eventlog.ErrOverloaded, 0},
		{"unavailable", eventlog.ErrUnavailable, 45 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := newFakeClock()
			d := newDoor(t, func(cfg *Config) { cfg.Now, cfg.AppendTimeout = clock.Now, 20*time.Millisecond })
			d.client.Before = func(topic string) error {
				if topic == eventlog.ReceiptsTopic {
					return nil
				}
				return c.err
			}
			if got := d.do(t, post{body: mixedBatch, key: someKey}); got.status != 503 {
				t.Fatal(got)
			}
			d.client.Before = nil
			for waited := time.Duration(0); waited < c.wait; waited += 15 * time.Second {
				if got := d.do(t, post{body: mixedBatch, key: someKey}); got.status != 503 {
					t.Fatalf("after %v: %v", waited, got)
				}
				clock.Add(15 * time.Second)
			}
			if got := d.do(t, post{body: mixedBatch, key: someKey}); got.status != 200 {
				t.Fatal(got)
			}
			oneEffect(t, d.log, 0, 1, 3, 4)
		})
	}
}

// Unknown faults of the log are 503 too: the batch was not accepted.
func TestEveryFaultOfTheLogIsA503(t *testing.T) {
	for _, err := range []error{
		eventlog.ErrUnavailable, eventlog.ErrOverloaded, eventlog.ErrClosed, eventlog.ErrRefused, errors.New("something new"),
	} {
		d := newDoor(t)
		d.client.Before = func(string) error { return err }
		got := d.do(t, post{body: oneLog})
		if got.status != 503 || got.header.Get("Retry-After") == "" || strings.Contains(got.body, "something") {
			t.Errorf("%v: got %v", err, got)
		}
	}
}
