package demo_test

import (
	"bytes"
	"testing"
	"time"

	"weir/internal/demo"
)

var end = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestTheSameSeedGivesTheSameDay(t *testing.T) {
	o := demo.Options{End: end, Events: 2000, Seed: 7}
	a, err := demo.Bodies(demo.Make(o), 500)
	if err != nil {
		t.Fatal(err)
	}
	b, err := demo.Bodies(demo.Make(o), 500)
	if err != nil {
		t.Fatal(err)
	}
	if len(a) < 4 || !bytes.Equal(bytes.Join(a, nil), bytes.Join(b, nil)) {
		t.Errorf("%d bodies, not the same twice", len(a))
	}
}

func TestTheDayHasAllTypesAndEnds(t *testing.T) {
	events := demo.Make(demo.Options{End: end, Events: 5000, Seed: 1})
	seen := map[string]int{}
	for i, e := range events {
		seen[e.Type]++
		if e.TS.After(end) || i > 0 && e.TS.Before(events[i-1].TS) {
			t.Fatalf("event %d is at %v, out of order or after the end", i, e.TS)
		}
	}
	if len(seen) != 13 {
		t.Errorf("%d types: %v", len(seen), seen)
	}
	if n := len(events); n < 4000 || n > 8000 {
		t.Errorf("%d events were made where about 5000 were asked for: %v", n, seen)
	}
}
