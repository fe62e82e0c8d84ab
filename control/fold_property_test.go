package control

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"weir/eventlog"
)

// TestFoldIsTheSameEverywhere folds one random history, sensible or not, whole,
// in pieces cut anywhere, and again after a restart; readers must see the same.
func TestFoldIsTheSameEverywhere(t *testing.T) {
	ring := testKeyring(t)
	rapid.Check(t, func(t *rapid.T) {
		records := drawRecords(t)
		whole, pieces := newTestDirectory(t, ring), newTestDirectory(t, ring)
		whole.take(eventlog.Chunk{Records: records, Next: int64(len(records)), HighWatermark: int64(len(records))})
		for at := 0; at < len(records); {
			to := rapid.IntRange(at+1, len(records)).Draw(t, "to")
			// Whatever end the log seemed to have: earlier is readable, too.
			end := rapid.IntRange(to, len(records)).Draw(t, "end")
			pieces.take(eventlog.Chunk{Records: records[at:to], Next: int64(to), HighWatermark: int64(end)})
			at = to
		}
		if !reflect.DeepEqual(whole.state, pieces.state) {
			t.Fatalf("states differ:\n%+v\n%+v", whole.state, pieces.state)
		}
		if a, b := shown(whole), shown(pieces); !reflect.DeepEqual(a, b) {
			t.Fatalf("readers see\n%v\n%v", a, b)
		}
		live := 0
		for _, k := range whole.state.keys {
			if k.revoked.IsZero() {
				live++
			}
		}
		if len(shown(whole)) != live {
			t.Fatalf("%d keys shown, %d live", len(shown(whole)), live)
		}
	})
}

func newTestDirectory(t *rapid.T, ring *Keyring) *Directory {
	d, err := NewDirectory(Config{Log: newMemLog(), Keyring: ring})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// drawRecords draws from few ids, so that events meet, and adds bytes that are no event.
func drawRecords(t *rapid.T) []eventlog.Record {
	project := rapid.SampledFrom([]string{"prj_a", "prj_b", "prj_c"})
	keyID := rapid.SampledFrom([]string{keyA, keyB, "CCCCCCCCCCCC", "bad"})
	name := rapid.SampledFrom([]string{"x", "y", ""})
	limit := rapid.Custom(func(t *rapid.T) Limit {
		return Limit{rapid.Int64Range(-1, 5000).Draw(t, "n"), rapid.Bool().Draw(t, "set")}
	})
	data := rapid.Custom(func(t *rapid.T) fact {
		switch rapid.IntRange(0, 8).Draw(t, "kind") {
		case 0, 1:
			return projectCreated{name.Draw(t, "name")}
		case 2:
			return projectRenamed{name.Draw(t, "name")}
		case 3:
			return secretSet{rapid.SampledFrom([]string{"", "s1.x.y", "z"}).Draw(t, "sealed")}
		case 4:
			return operatorSet{rapid.Bool().Draw(t, "operator")}
		case 5:
			return limitsSet{rapid.MapOf(rapid.SampledFrom([]string{limitEvents, limitBatches, limitBytes, "other"}), limit).Draw(t, "limits")}
		case 6:
			return keyRevoked{keyID.Draw(t, "key")}
		}
		k := aKey(keyID.Draw(t, "key"), rapid.SliceOfN(rapid.SampledFrom([]string{"ingest", "read", "manage", "fly"}), 0, 3).Draw(t, "scopes")...)
		k.SHA256[0] = rapid.Byte().Draw(t, "hash")
		return k
	})
	value := rapid.Custom(func(t *rapid.T) []byte {
		if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			return rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		}
		v, err := on(project.Draw(t, "project"), data.Draw(t, "data")).encode()
		if err != nil {
			t.Fatal(err)
		}
		return v
	})
	var records []eventlog.Record
	for i, v := range rapid.SliceOfN(value, 1, 60).Draw(t, "values") {
		records = append(records, eventlog.Record{Offset: int64(i), Value: v})
	}
	return records
}

// shown is what Lookup would find, key by key; an unreadable secret is random, so it is left out.
func shown(d *Directory) map[string]Caller {
	out := map[string]Caller{}
	for i := range d.index.shards {
		for id, k := range *d.index.shards[i].Load() {
			p := k.project.Load()
			out[id+fmt.Sprint(k.hash[0])] = Caller{ProjectID: p.id, KeyID: k.id, Scopes: k.scopes, Operator: p.operator, Limits: p.limits}
		}
	}
	return out
}
