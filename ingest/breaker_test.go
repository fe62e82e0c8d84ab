package ingest

import (
	"testing"
	"time"

	"weir/eventlog"
)

func TestBreaker(t *testing.T) {
	clock := newFakeClock()
	b := breaker{now: clock.Now}
	if b.wait() != 0 {
		t.Fatal("shut from the start")
	}
	for range 50 {
		b.failed() // those under way together
	}
	if w := b.wait(); w != time.Second {
		t.Errorf("shut for %v at first", w)
	}
	for _, pause := range []time.Duration{2, 4, 8, 15, 15} {
		clock.Add(b.until.Sub(clock.Now()))
		if b.wait() != 0 {
			t.Fatal("nobody may try")
		}
		if b.wait() == 0 {
			t.Error("a second one may try at once")
		}
		b.failed()
		if w := b.wait(); w != pause*time.Second {
			t.Errorf("shut for %v, want %v s", w, pause)
		}
	}
	b.succeeded()
	if b.wait() != 0 {
		t.Error("shut after a success")
	}
}

// While the log is down batches are shed without reading them; when it is back they pass.
func TestShedsWhileTheLogIsDown(t *testing.T) {
	clock := newFakeClock()
	d := newDoor(t, func(c *Config) { c.Now = clock.Now })
	appends := 0
	d.client.Before = func(string) error { appends++; return eventlog.ErrUnavailable }
	for range 5 {
		if got := d.do(t, post{body: oneLog}); got.status != 503 || got.header.Get("Retry-After") == "" {
			t.Error(got)
		}
	}
	if appends != 1 {
		t.Errorf("the log was tried %d times, want once", appends)
	}
	d.client.Before = nil
	clock.Add(time.Second)
	for range 2 {
		if got := d.do(t, post{body: oneLog}); got.status != 200 {
			t.Error("the log is back:", got)
		}
	}
}

func TestDrain(t *testing.T) {
	d := newDoor(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	d.client.Before = func(string) error {
		close(entered)
		<-leave
		return nil
	}
	begun := make(chan reply)
	go func() { begun <- d.do(t, post{body: oneLog}) }()
	<-entered
	d.Drain()
	if d.Ready() == nil {
		t.Error("ready while draining")
	}
	if got := d.do(t, post{body: oneLog}); got.status != 503 || got.header.Get("Connection") != "close" || got.header.Get("Retry-After") == "" {
		t.Error("taken while draining:", got)
	}
	close(leave)
	if got := <-begun; got.status != 200 {
		t.Error("what was begun got", got)
	}
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]Config{
		"no log":       {Directory: everybody(), Gateway: "one"},
		"no directory": {Log: discard{}, Gateway: "one"},
		"no gateway":   {Log: discard{}, Directory: everybody()},
		"a bad name":   {Log: discard{}, Directory: everybody(), Gateway: "one two"},
		"a bad size":   {Log: discard{}, Directory: everybody(), Gateway: "one", MaxBatchBytes: -1},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// A project's own limits take the place of the service's, zero turns them off.
func TestProjectsOwnRates(t *testing.T) {
	clock, none, one := newFakeClock(), 0, 1
	who := everybody()
	a, b := who[keyA], who[keyB]
	a.BatchesPerSecond, b.BatchesPerSecond = &one, &none
	who[keyA], who[keyB] = a, b
	d := newDoor(t, func(c *Config) { c.Now, c.Directory, c.Rates.BatchesPerSecond = clock.Now, who, 2 })
	for i, want := range []int{200, 429} {
		if got := d.do(t, post{body: oneLog}); got.status != want || got.header["RateLimit"] == nil {
			t.Errorf("batch %d of a: %v", i, got)
		}
	}
	for range 5 {
		if got := d.do(t, post{body: oneLog, bearer: keyB, secret: secretB}); got.status != 200 || got.header["RateLimit"] != nil {
			t.Error("a batch of b:", got)
		}
	}
}
