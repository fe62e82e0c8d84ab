package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"weir/eventlog"
	"weir/schemas"
)

// A noticer that is stopped between any two steps decides each occasion once, and
// tells about what is new with its first event only.
func TestNoticesOnce(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	b := newBook()
	b.add("ep_1", KindHTTP, "http://127.0.0.1:1")
	log := openLog(t, startBroker(t))
	topic := eventlog.EventsTopic(schemas.Error)
	const events, groups = 60, 7
	appendEvents := func(from int) {
		for i := from; i < from+events; i++ {
			set := eventlog.Set{Key: []byte("prj"), Batch: digest("test", fmt.Sprint(i)), Time: time.Now(), Values: [][]byte{fmt.Appendf(nil, `{"group":%d}`, i%groups)}}
			if _, err := log.Append(t.Context(), topic, i%2, set); err != nil {
				t.Fatal(err)
			}
		}
	}
	// What each third group is told needs a check, which fails now and then, and says
	// that it is so from the third event on.
	var asking sync.Mutex
	seen := map[[16]byte]map[[16]byte]bool{}
	read := func(r *eventlog.Record) []Notice {
		n := Notice{Type: "error.group.created", Payload: r.Value, First: digest("group", string(r.Value))}
		var in struct{ Group int }
		if _ = json.Unmarshal(r.Value, &in); in.Group%3 == 0 {
			asking.Lock()
			defer asking.Unlock()
			if seen[n.First] == nil {
				seen[n.First] = map[[16]byte]bool{}
			}
			seen[n.First][r.EventID()] = true
			n.Check = func(context.Context) (json.RawMessage, bool, error) {
				asking.Lock()
				defer asking.Unlock()
				if random.IntN(4) == 0 {
					return nil, false, errors.New("the read model is away")
				}
				return r.Value, len(seen[n.First]) >= 3, nil
			}
			n.Payload = nil
		}
		return []Notice{n}
	}
	appendEvents(0)
	for life := range 8 {
		ctx, cancel := context.WithCancel(context.Background())
		left, mu := random.IntN(12), sync.Mutex{}
		died := make(chan struct{})
		step := func(string) {
			mu.Lock()
			defer mu.Unlock()
			if left--; left == 0 && life < 7 {
				cancel()
				close(died)
			}
		}
		n := NewNoticer(NoticerConfig{Log: log, Directory: b, Topics: []string{topic}, Read: read, ClockSlack: time.Second, Logger: slog.New(slog.DiscardHandler), step: step})
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		if life == 5 {
			appendEvents(events)
		}
		select {
		case <-died:
		case <-time.After(700 * time.Millisecond): // nothing is left to notice
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	told := map[string]int{}
	for p := range log.Partitions(OwedTopic) {
		err := scan(t.Context(), log, eventlog.TopicPartition{Topic: OwedTopic, Partition: p}, 0, func(r *eventlog.Record) bool {
			rec, err := decodeRecord(r.Value)
			if err != nil {
				t.Fatal(err)
			}
			var in struct{ Group int }
			_ = json.Unmarshal(rec.Payload, &in)
			told[fmt.Sprint("group ", in.Group)]++
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for g := range groups {
		if n := told[fmt.Sprint("group ", g)]; n != 1 {
			t.Errorf("group %d was told %d times", g, n)
		}
	}
}

// What is remembered is bounded: the oldest claims are forgotten, and reading begins
// where the rest does.
func TestFirstsAreBounded(t *testing.T) {
	const most = 10
	f := newFirsts(most)
	for i := range 25 {
		value := append(digestOf(i), digestOf(100+i)...)
		_ = f.take([]eventlog.Record{{Offset: int64(i), Value: value}, {Offset: int64(i), Value: value}})
	}
	for i := range 25 {
		if known := f.known([16]byte(digestOf(i))); known != (i >= 15) {
			t.Errorf("thing %d of 25: known %v", i, known)
		}
	}
	if len(f.by) != most || len(f.order) != most {
		t.Errorf("%d and %d things are kept, want %d", len(f.by), len(f.order), most)
	}
	if from := f.from(eventlog.Bounds{Start: 3, End: 25}); from != 15 {
		t.Errorf("reading begins at %d", from)
	}
}

func digestOf(n int) []byte {
	d := digest("thing", fmt.Sprint(n))
	return d[:]
}
