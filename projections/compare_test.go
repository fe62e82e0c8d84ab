package projections

import (
	"context"
	"testing"

	"weir/projections/foldtest"
	"weir/readmodel/tables"
)

// While two generations are compared the live one goes on, and may put records into the quarantine,
// which all share: they are not of the position that is compared.
func TestComparisonIsAtOnePosition(t *testing.T) {
	e := foldtest.Start(t, 1)
	projection := tallyProjection()
	var f feeder
	f.add(t, e, 1)
	stop := start(t, newProjector(t, e, 1))
	waitFolded(t, e, projection, f.ends...)
	stop()
	if _, err := rebuildsOf(e, projection).Ask(t.Context(), "tally", false); err != nil {
		t.Fatal(err)
	}
	p := newProjector(t, e, 1)
	s, err := look(t.Context(), e.Conn)
	if err != nil {
		t.Fatal(err)
	}
	live, _ := s.live(projection)
	m, _ := s.building(projection)
	if err := p.completeBuilding(t.Context(), projection, s, m.Generation); err != nil {
		t.Fatal(err)
	}
	suffix := tables.GenerationSuffix(m.Generation.Generation)
	if _, err := p.freeze(t.Context(), projection, liveFilling(live.Generation), buildingFilling(m.Generation), "lines"+suffix, m); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	other := newProjector(t, e, 1) // fills the live generation only
	go func() {
		defer close(done)
		other.follow(ctx, "tally", func() error { return other.foldLive(ctx, projection) })
	}()
	f.add(t, e, 1)
	waitFolded(t, e, projection, f.ends...)
	cancel()
	<-done
	differences, err := p.compareFrozen(t.Context(), projection, m.Generation)
	if err != nil || len(differences) > 0 {
		t.Errorf("differences: %v, error %v", differences, err)
	}
}

// A group with fewer partitions than members gives all of them to one while others are there: who takes custody then
// loses it when these leave, and tries again.
func TestCustodyIsTakenAgain(t *testing.T) {
	e := foldtest.Start(t, 1)
	var f feeder
	f.add(t, e, 1)
	for range 3 { // two of them own nothing
		start(t, newProjector(t, e, 1))
	}
	waitFolded(t, e, tallyProjection(), f.ends...)
	for range 3 {
		if v, err := newProjector(t, e, 1).Verify(t.Context(), "tally", nil); err != nil || !v.Equal {
			t.Errorf("verification %+v, error %v", v, err)
		}
	}
}
