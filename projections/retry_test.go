package projections

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/eventlog"
	"weir/projections/foldtest"
	"weir/readmodel/tables"
)

// mended is the fold after a fix: it takes what the other one refuses.
type mended struct{ tallyFold }

func newMended() Fold {
	f := &mended{}
	f.Reset()
	return f
}

func mendedProjection() Projection {
	p := tallyProjection()
	p.New = newMended
	return p
}

func newMendedProjector(t testing.TB, e *foldtest.Engines) *Projector {
	p := newProjector(t, e, 1)
	p.cfg.Projections = []Projection{mendedProjection()}
	p.retryEvery = 20 * time.Millisecond
	return p
}

// fault makes the nth step of a retry go wrong in one of the four ways.
type fault struct {
	mu    sync.Mutex
	nth   int
	way   int // killed before, killed after, failed not applied, failed yet applied
	seen  []string
	kill  func()
	fired bool
}

func (f *fault) around(name string, apply func() error) error {
	f.mu.Lock()
	now := len(f.seen) == f.nth && !f.fired
	f.fired = f.fired || now
	f.seen = append(f.seen, name)
	kill := f.kill
	f.mu.Unlock()
	switch {
	case now && f.way == 0:
		kill()
		return context.Canceled
	case now && f.way == 1:
		err := apply()
		kill()
		return errors.Join(err, context.Canceled)
	case now && f.way == 2:
		return errFault
	case now:
		return errors.Join(errFault, apply())
	}
	return apply()
}

type faultyRetrySink struct {
	sink
	*fault
}

func (s faultyRetrySink) insert(ctx context.Context, token string, b Block) error {
	if !strings.HasSuffix(token, ":retry") {
		return s.sink.insert(ctx, token, b)
	}
	return s.around("insert "+b.Table.Name, func() error { return s.sink.insert(ctx, token, b) })
}

// runRetrying runs projectors, one after the other when a fault kills them, until stop is called.
func runRetrying(t *testing.T, e *foldtest.Engines, f *fault) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var lives sync.WaitGroup
	lives.Go(func() {
		for ctx.Err() == nil {
			life, kill := context.WithCancel(ctx)
			p := newMendedProjector(t, e)
			p.faultySink = func(s sink) sink { return faultyRetrySink{s, f} }
			p.faultyExec = func(statement string, run func() error) error {
				if !strings.HasPrefix(statement, "retry ") {
					return run()
				}
				return f.around(statement, run)
			}
			f.mu.Lock()
			f.kill = kill
			f.mu.Unlock()
			_ = p.Run(life)
			kill()
		}
	})
	return func() { cancel(); lives.Wait() }
}

func waitRetries(t *testing.T, r Rebuilds, what string, is func(RetryCounts) bool) {
	t.Helper()
	var c RetryCounts
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); pause(t.Context(), 20*time.Millisecond) {
		var err error
		if c, err = r.Retries(t.Context(), "tally"); err == nil && is(c) {
			return
		}
	}
	t.Fatalf("%s: not within a minute: %+v", what, c)
}

// Records that a mended fold takes are folded once, whatever goes wrong between any two steps of their
// retry: killed or failed, before or after it had its effect. Verify, prove and the audit agree.
func TestRetry(t *testing.T) {
	e := foldtest.Start(t, 1)
	var f feeder
	for range 20 {
		f.add(t, e, 1)
	}
	stop := start(t, newProjector(t, e, 1))
	waitFolded(t, e, tallyProjection(), f.ends...)
	stop()
	before := readSums(t, e)
	if before.quarantined != 20 {
		t.Fatalf("%d records are in quarantine", before.quarantined)
	}
	r := rebuildsOf(e, mendedProjection())
	steps := []string{"retry 2", "insert lines", "insert tally", "retry 5"}
	retried := uint64(0)
	for nth, step := range steps {
		for way := range 4 {
			offset := int64(retried)*100 + 99
			what := fmt.Sprintf("offset %d, %s, way %d", offset, step, way)
			injected := &fault{nth: nth, way: way}
			stop := runRetrying(t, e, injected)
			for range 2 { // asking twice is asking once
				if _, err := r.Retry(t.Context(), "tally", RetryFilter{Topic: topicUnderTest, Offset: &offset}); err != nil {
					t.Fatal(err)
				}
			}
			retried++
			waitRetries(t, r, what, func(c RetryCounts) bool { return c.Retried == retried })
			stop()
			if !injected.fired || injected.seen[nth] != step {
				t.Errorf("%s: the steps were %v", what, injected.seen)
			}
			got := readSums(t, e)
			if got.lines != before.lines+retried || got.offsets != got.lines || got.tallied != before.tallied+retried {
				t.Fatalf("%s: %+v after %+v and %d retries", what, got, before, retried)
			}
		}
	}
	start(t, newMendedProjector(t, e))
	check := newMendedProjector(t, e)
	if v, err := check.Verify(t.Context(), "tally", nil); err != nil || v.Equal {
		t.Errorf("four records are still in quarantine that this fold takes: %+v, error %v", v, err)
	}
	if n, err := r.Retry(t.Context(), "tally", RetryFilter{}); err != nil || n != 4 {
		t.Errorf("asked for %d more, error %v", n, err)
	}
	waitRetries(t, r, "the rest is retried", func(c RetryCounts) bool { return c.Retried == 20 && c.Open+c.Asked+c.Refused+c.InDoubt == 0 })
	if v, err := check.Verify(t.Context(), "tally", nil); err != nil || !v.Equal {
		t.Errorf("everything was retried: %+v, error %v", v, err)
	}
	if proof, err := check.Prove(t.Context(), ProofRequest{Project: "k"}, nil); err != nil || !proof.Equal || proof.Lines[0].Quarantined != 0 {
		t.Errorf("everything was retried: %+v, error %v", proof, err)
	}
	if g, err := r.Ask(t.Context(), "tally", false); err != nil || g != 2 {
		t.Fatalf("generation %d, error %v", g, err)
	}
	waitSurvey(t, e, "generation 2, which equals it, is live", swapped(2))
}

// A record that the fold still refuses stays in quarantine, with the reason, and may be asked for again.
func TestRetryRefused(t *testing.T) {
	e := foldtest.Start(t, 1)
	var f feeder
	f.add(t, e, 1)
	p := newProjector(t, e, 1)
	p.retryEvery = 20 * time.Millisecond
	start(t, p)
	waitFolded(t, e, tallyProjection(), f.ends...)
	before := readSums(t, e)
	r := rebuildsOf(e, tallyProjection())
	for attempt := range 2 {
		if n, err := r.Retry(t.Context(), "tally", RetryFilter{Reason: "not a number", Project: "k"}); err != nil || n != 1 {
			t.Fatalf("asked for %d, error %v", n, err)
		}
		waitRetries(t, r, "refused", func(c RetryCounts) bool { return c.Refused == 1 })
		var tried uint32
		if err := e.Conn.QueryRow(t.Context(), "SELECT tupleElement(max(latest), 1) FROM quarantine_retries").Scan(&tried); err != nil || int(tried) != attempt+1 {
			t.Errorf("attempt %d instead of %d, error %v", tried, attempt+1, err)
		}
	}
	if got := readSums(t, e); got != before {
		t.Errorf("%+v after %+v", got, before)
	}
}

// A plan that lay too long is not repeated: its tokens may be forgotten.
func TestRetryInDoubt(t *testing.T) {
	e := foldtest.Start(t, 1)
	var f feeder
	f.add(t, e, 1)
	stop := start(t, newProjector(t, e, 1))
	waitFolded(t, e, tallyProjection(), f.ends...)
	stop()
	before := readSums(t, e)
	old := fmt.Sprintf("INSERT INTO quarantine_retries SELECT 'tally', 1, '%s', 0, 99, (1, %d, now64(3, 'UTC') - INTERVAL 1 HOUR, '')", topicUnderTest, tables.RetryPlanned)
	if err := e.Conn.Exec(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	start(t, newMendedProjector(t, e))
	r := rebuildsOf(e, mendedProjection())
	waitRetries(t, r, "in doubt", func(c RetryCounts) bool { return c.InDoubt == 1 })
	if n, err := r.Retry(t.Context(), "tally", RetryFilter{}); err != nil || n != 0 {
		t.Errorf("asked for %d, error %v", n, err)
	}
	if got := readSums(t, e); got != before {
		t.Errorf("%+v after %+v", got, before)
	}
}

// Add takes "bad" as zero.
func (f *mended) Add(r *eventlog.Record) error {
	if string(r.Value) == "bad" {
		fixed := *r
		fixed.Value = []byte("0")
		r = &fixed
	}
	return f.tallyFold.Add(r)
}
