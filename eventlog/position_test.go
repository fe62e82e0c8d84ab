package eventlog

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/schemas"
)

func TestPositionsText(t *testing.T) {
	ps := Positions{{EventsTopic(schemas.Log), 0, 1235}, {EventsTopic(schemas.FeatureFlag), 2, 17}, {ControlTopic, 0, 3}}
	const want = "log:0:1235,feature_flag:2:17,weir.control:0:3"
	if got := ps.String(); got != want {
		t.Errorf("text is %q, want %q", got, want)
	}
	for _, bad := range []string{",", "log", "log:0", "log:0:", "log:-1:3", "log:0:-3", "log:0:3,", ":0:3", "log:0:3:4", "log:0:9223372036854775808", "a b:0:1", "log:2147483648:1", "log:+1:1"} {
		if got, err := ParsePositions(bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}

func TestPositionsRoundTrip(t *testing.T) {
	topics := append(EventsTopics(), ControlTopic, ReceiptsTopic, "other-topic_1")
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Position {
			return Position{rapid.SampledFrom(topics).Draw(t, "topic"), rapid.IntRange(0, 1<<31-1).Draw(t, "partition"), rapid.Int64Min(0).Draw(t, "next")}
		}), 0, 40).Draw(t, "positions")
		got, err := ParsePositions(Positions(want).String())
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v came back as %v, %v", want, got, err)
		}
	})
}

func FuzzParsePositions(f *testing.F) {
	f.Add("log:0:1235,deploy:2:17")
	f.Fuzz(func(t *testing.T, s string) {
		ps, err := ParsePositions(s)
		if err != nil {
			return
		}
		again, err := ParsePositions(ps.String())
		if err != nil || !slices.Equal(ps, again) {
			t.Fatalf("%q: %v then %v, %v", s, ps, again, err)
		}
	})
}

func TestCheckpointText(t *testing.T) {
	six, eleven := Witness{Offset: 6, Sum: 1 << 63}, Witness{Offset: 11, Sum: 1}
	for _, c := range []struct {
		offset   int64
		metadata string
		want     Checkpoint
		bad      bool
	}{
		{-1, "", Checkpoint{Planned: -1}, false},
		{7, metadataVersion, Checkpoint{Offset: 7, Planned: -1, Exists: true}, false},
		{7, advanceText(six), Checkpoint{Offset: 7, Planned: -1, Before: six, Exists: true}, false},
		{7, planText(12, Witness{}, Witness{}), Checkpoint{Offset: 7, Planned: 12, Exists: true}, false},
		{7, planText(12, six, eleven), Checkpoint{Offset: 7, Planned: 12, Before: six, Last: eleven, Exists: true}, false},
		{7, planText(12, Witness{}, eleven), Checkpoint{Offset: 7, Planned: 12, Last: eleven, Exists: true}, false},
		{7, "", Checkpoint{Offset: 7, Planned: -1, Exists: true}, false},
		{7, "reset by hand", Checkpoint{Offset: 7, Planned: -1, Exists: true}, false},
		{7, planText(6, six, eleven), Checkpoint{}, true},
		{7, "weir1 plan x", Checkpoint{}, true},
		{7, "weir1 plan", Checkpoint{}, true},
		{7, "weir1 before 6", Checkpoint{}, true},
		{7, "weir1 before 6:x", Checkpoint{}, true},
		{7, "weir1 since 6", Checkpoint{}, true},
		{7, "weir2 plan 12", Checkpoint{}, true},
	} {
		got, err := readCheckpoint(c.offset, c.metadata)
		if (err != nil) != c.bad || !c.bad && got != c.want {
			t.Errorf("%d %q is read as %+v, %v", c.offset, c.metadata, got, err)
		}
	}
}

// TestShare: every partition goes to one member that wants it, and members that
// want the same differ by one at most.
func TestShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.MapOfN(rapid.StringMatching("[a-f]"), rapid.IntRange(1, 7), 1, 5).Draw(t, "sizes")
		topics := slices.Sorted(maps.Keys(sizes))
		var members []groupMember
		for _, id := range rapid.SliceOfNDistinct(rapid.StringMatching("[a-z]{4}"), 1, 6, rapid.ID[string]).Draw(t, "ids") {
			members = append(members, groupMember{id, topics})
		}
		shares := share(members, sizes)
		total, least, most := 0, 1<<30, 0
		seen := make(map[TopicPartition]bool)
		for _, m := range members {
			n := len(shares[m.id])
			total, least, most = total+n, min(least, n), max(most, n)
			back, err := readAssignment(assignment(shares[m.id]))
			if err != nil || len(back) != n {
				t.Fatalf("%v came back as %v, %v", shares[m.id], back, err)
			}
			for _, tp := range back {
				seen[tp] = true
			}
		}
		if most-least > 1 || len(seen) != total {
			t.Fatalf("shares %v", shares)
		}
	})
}
