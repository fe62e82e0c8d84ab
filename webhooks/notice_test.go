package webhooks

import (
	"context"
	"encoding/json"
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
	read := func(r *eventlog.Record) (Notice, bool) {
		return Notice{Type: "error.group.created", Payload: r.Value, First: digest("group", string(r.Value))}, true
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
