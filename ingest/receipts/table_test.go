package receipts

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

// The table is a map whose old entries can be dropped.
func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table table
		model := map[[16]byte]place{}
		for range rapid.IntRange(0, 400).Draw(t, "steps") {
			// Few hashes, so that they meet in shards and slots.
			var hash [16]byte
			hash[0] = byte(rapid.IntRange(0, 60).Draw(t, "hash"))
			hash[12] = hash[0] & 1
			switch rapid.IntRange(0, 9).Draw(t, "op") {
			case 0:
				before := rapid.Int64Range(0, 40).Draw(t, "before")
				table.expire(before)
				for h, p := range model {
					if p.second < before {
						delete(model, h)
					}
				}
			default:
				p := place{rapid.IntRange(0, 1<<16-1).Draw(t, "partition"), rapid.Int64Range(0, 1<<47).Draw(t, "offset"), rapid.Int64Range(0, 40).Draw(t, "second")}
				table.put(hash, p)
				model[hash] = p
			}
			want, known := model[hash]
			if got, ok := table.get(hash); ok != known || got != want {
				t.Fatalf("%x: got %v %v, want %v %v", hash, got, ok, want, known)
			}
		}
		if table.len() != len(model) {
			t.Fatalf("%d entries, want %d", table.len(), len(model))
		}
		for h, p := range model {
			if got, ok := table.get(h); !ok || got != p {
				t.Fatalf("%x: got %v %v, want %v", h, got, ok, p)
			}
		}
	})
}

// A million keys take about 32 bytes each.
func TestBytesPerKey(t *testing.T) {
	const keys = 1_000_000
	random := rand.New(rand.NewPCG(1, 2))
	var table table
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range keys {
		var hash [16]byte
		binary.LittleEndian.PutUint64(hash[:], random.Uint64())
		binary.LittleEndian.PutUint64(hash[8:], random.Uint64())
		table.put(hash, place{i % 6, int64(i), int64(i)})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := float64(after.HeapAlloc-before.HeapAlloc) / keys
	t.Logf("%.1f bytes a key", each)
	if each > 36 || table.len() != keys {
		t.Errorf("%.1f bytes a key over %d keys, want at most 36", each, table.len())
	}
	runtime.KeepAlive(&table)
}

func BenchmarkTablePut(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	var table table
	b.ReportAllocs()
	for b.Loop() {
		var hash [16]byte
		binary.LittleEndian.PutUint64(hash[:], random.Uint64())
		binary.LittleEndian.PutUint64(hash[8:], random.Uint64())
		table.put(hash, place{1, 2, 3})
	}
}
