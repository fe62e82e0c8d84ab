package readmodel

import (
	"context"
	"sync"
	"testing"
	"time"
)

// More queries than may run at once wait their turn, in any number, and none after its client has gone.
func TestQueriesWaitTheirTurn(t *testing.T) {
	rd := New(Config{MaxQueries: 2})
	var inside, most int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			leave, err := rd.enter(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			time.Sleep(time.Millisecond)
			mu.Lock()
			inside--
			mu.Unlock()
			leave()
		})
	}
	all.Wait()
	if most != 2 {
		t.Errorf("%d ran at once instead of 2", most)
	}
	for range 2 {
		if _, err := rd.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rd.enter(gone); err == nil {
		t.Error("entered, though both places are taken and the client is gone")
	}
}
