package limits

import (
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Whatever is sent and whenever, what passes stays within the rates: batches
// within burst plus rate, events within that and the one batch that may leave a debt.
func TestRatesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rates{rapid.IntRange(1, 500).Draw(t, "events"), rapid.IntRange(1, 50).Draw(t, "batches")}
		b, now := New(), noon
		var events, batches, largest int
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "ms")) * time.Millisecond)
			s := b.Admit("p", r, now)
			if !s.Passes() {
				checkRetry(t, b, r, now, s)
				continue
			}
			n := rapid.IntRange(0, 1500).Draw(t, "size")
			if s := b.Charge("p", r, n, now); !s.Passes() {
				checkRetry(t, b, r, now, s)
				continue
			}
			events, batches, largest = events+n, batches+1, max(largest, n)
		}
		seconds := 1 + now.Sub(noon).Seconds()
		if most := float64(r.BatchesPerSecond)*seconds + 1e-6; float64(batches) > most {
			t.Fatalf("%d batches in %v s at %d a second", batches, seconds, r.BatchesPerSecond)
		}
		if most := float64(r.EventsPerSecond)*seconds + float64(largest) + 1e-6; float64(events) > most {
			t.Fatalf("%d events in %v s at %d a second", events, seconds, r.EventsPerSecond)
		}
	})
}

// checkRetry: who waits as long as was said passes, unless somebody was faster.
func checkRetry(t *rapid.T, b *Buckets, r Rates, now time.Time, s Standing) {
	later := now.Add(s.RetryAfter + time.Microsecond)
	other := New()
	k := *b.byName["p"]
	other.byName["p"], other.swept = &k, b.swept
	if again := other.Admit("p", r, later); !again.Passes() {
		t.Fatalf("refused again after %v: %+v", s.RetryAfter, again)
	}
}

func TestDebt(t *testing.T) {
	b, r := New(), Rates{EventsPerSecond: 10}
	take := func(at time.Duration, n int) time.Duration {
		now := noon.Add(at)
		if s := b.Admit("p", r, now); !s.Passes() {
			return s.RetryAfter
		}
		return b.Charge("p", r, n, now).RetryAfter
	}
	if w := take(0, 45); w != 0 {
		t.Error("a batch larger than the bucket is refused:", w)
	}
	if w := take(0, 1); w != 3500*time.Millisecond {
		t.Error("a debt of 35 at 10 a second is worth", w)
	}
	if w := take(3400*time.Millisecond, 1); w == 0 {
		t.Error("passes while in debt")
	}
	if w := take(3500*time.Millisecond, 1); w != 0 {
		t.Error("refused without debt:", w)
	}
}

// Batches that are scanned at the same time can't all pass on one bucket.
func TestConcurrentBatchesLeaveOneDebt(t *testing.T) {
	b, r := New(), Rates{EventsPerSecond: 10, BatchesPerSecond: 5}
	for range 3 {
		if !b.Admit("p", r, noon).Passes() {
			t.Fatal("refused without debt")
		}
	}
	if !b.Charge("p", r, 100, noon).Passes() {
		t.Error("the first is refused")
	}
	if s := b.Charge("p", r, 100, noon); s.Passes() || s.Events != -90 || s.Batches != 3 {
		t.Errorf("the second: %+v", s)
	}
}

func TestOff(t *testing.T) {
	b := New()
	for range 1000 {
		s := b.Admit("p", Rates{}, noon)
		if !s.Passes() || !b.Charge("p", Rates{}, 1e6, noon).Passes() {
			t.Fatal("refused without limits")
		}
	}
	h := http.Header{}
	b.Standing("p", Rates{}, noon).WriteHeaders(h)
	if len(h) != 0 || b.Len() != 0 {
		t.Error(h, b.Len())
	}
	for range 1000 {
		if !b.Admit("p", Rates{EventsPerSecond: 1}, noon).Passes() {
			t.Fatal("batches are limited by a rate that is off")
		}
	}
}

func TestHeaders(t *testing.T) {
	b, r := New(), Rates{1000, 100}
	b.Admit("p", r, noon)
	s := b.Charge("p", r, 1500, noon)
	h := http.Header{}
	s.WriteHeaders(h)
	if got, want := fmt.Sprint(h["RateLimit-Policy"]), `["events";q=1000;w=1, "batches";q=100;w=1]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(h["RateLimit"]), `["events";r=0;t=2, "batches";r=99;t=1]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if s := b.Admit("p", r, noon); s.Passes() || s.Reason() != "1000 events per second" || s.RetryAfter != 500*time.Millisecond {
		t.Errorf("%+v %s", s, s.Reason())
	}
}

// A changed limit holds at once; a debt is not forgiven by it.
func TestChangedRates(t *testing.T) {
	b := New()
	b.Admit("p", Rates{EventsPerSecond: 100}, noon)
	b.Charge("p", Rates{EventsPerSecond: 100}, 300, noon)
	s := b.Standing("p", Rates{EventsPerSecond: 10}, noon)
	if s.Events != -290 {
		t.Errorf("%+v", s)
	}
	if s = b.Standing("p", Rates{EventsPerSecond: 100}, noon); s.Events != -200 {
		t.Errorf("there and back: %+v", s)
	}
}

func TestIdleBucketsAreForgotten(t *testing.T) {
	b, r := New(), Default
	for i := range 1000 {
		b.Admit(fmt.Sprint(i), r, noon)
	}
	b.Charge("7", r, 1e6, noon)
	b.Admit("x", r, noon.Add(time.Minute))
	if n := b.Len(); n != 2 {
		t.Errorf("%d buckets are left, want those of 7, in debt, and x", n)
	}
}

func TestRefund(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, r := New(), Default
		n := rapid.IntRange(0, 5000).Draw(t, "events")
		b.Admit("p", r, noon)
		b.Charge("p", r, 100, noon)
		before := b.Standing("p", r, noon)
		b.Admit("p", r, noon)
		b.Charge("p", r, n, noon)
		after := b.Refund("p", r, n, noon)
		if math.Abs(after.Events-before.Events) > 1e-6 || after.Batches != before.Batches {
			t.Fatalf("before %+v, after %+v", before, after)
		}
	})
}

func BenchmarkAdmitAndCharge(b *testing.B) {
	k := New()
	now := noon
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		k.Admit("p", Default, now)
		k.Charge("p", Default, 100, now)
	}
}
