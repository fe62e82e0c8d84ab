package limits

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// spoken is a record on its way from a gateway.
type spoken struct {
	from  int
	at    time.Time // when it was told
	heard time.Time // when others hear it
	told  []Usage
}

// cluster simulates gateways that share limits, on a clock of its own.
type cluster struct {
	now    time.Time
	random *rand.Rand
	nodes  map[int]*Buckets
	next   int
	log    []spoken
	pos    map[int]int
	events int
	passed int
	most   int // largest batch
}

func newCluster(seed uint64) *cluster {
	return &cluster{now: noon, random: rand.New(rand.NewPCG(seed, 0)), nodes: map[int]*Buckets{}, pos: map[int]int{}}
}

// join starts a gateway, which reads what was told in the last minute.
func (c *cluster) join() {
	b := New()
	b.Share()
	c.nodes[c.next] = b
	c.pos[c.next] = 0
	c.hear(c.next)
	c.next++
}

// leave kills a gateway: what it has not told is lost.
func (c *cluster) leave(id int) { delete(c.nodes, id) }

func (c *cluster) ids() []int {
	var all []int
	for id := range c.nodes {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

func (c *cluster) hear(id int) {
	for c.pos[id] < len(c.log) && !c.log[c.pos[id]].heard.After(c.now) {
		s := c.log[c.pos[id]]
		c.pos[id]++
		if s.from == id || c.now.Sub(s.at) > Replay {
			continue
		}
		for _, u := range s.told {
			c.nodes[id].Told(u, s.at, c.now)
		}
	}
}

// step moves time by 10 ms. Each gateway tells every 100 ms and is heard up to 100 ms later.
func (c *cluster) step(tick int, r Rates, send func(node int) (batch int)) {
	c.now = c.now.Add(10 * time.Millisecond)
	for _, id := range c.ids() {
		b := c.nodes[id]
		c.hear(id)
		if (tick+3*id)%10 == 0 {
			if told := b.Untold(c.now); len(told) > 0 {
				heard := c.now.Add(time.Duration(c.random.IntN(100)) * time.Millisecond)
				if n := len(c.log); n > 0 && heard.Before(c.log[n-1].heard) {
					heard = c.log[n-1].heard // one partition: heard in order
				}
				c.log = append(c.log, spoken{id, c.now, heard, told})
			}
		}
		for n := send(id); n > 0; n = send(id) {
			if !b.Admit("p", r, c.now).Passes() || !b.Charge("p", r, n, c.now).Passes() {
				break
			}
			c.events += n
			c.passed++
			c.most = max(c.most, n)
		}
	}
}

// However many gateways a greedy project uses, and while they come and go, it
// gets its rate within a tenth: the burst of the first second, and what a killed
// gateway had not told, beside it.
func TestSharedRateHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(rapid.Uint64().Draw(t, "seed"))
		r := Rates{EventsPerSecond: rapid.SampledFrom([]int{100, 1000, 20000}).Draw(t, "rate")}
		size := max(1, r.EventsPerSecond/rapid.SampledFrom([]int{1000, 100, 20, 5}).Draw(t, "part"))
		for range rapid.IntRange(1, 6).Draw(t, "gateways") {
			c.join()
		}
		churn := rapid.SampledFrom([]int{0, 500, 2000}).Draw(t, "churn") // ticks between a death and a start
		const ticks = 6000                                               // a minute
		killed := 0
		for tick := range ticks {
			if churn > 0 && tick > 0 && tick%churn == 0 && len(c.nodes) > 0 {
				c.leave(c.ids()[c.random.IntN(len(c.nodes))])
				c.join()
				killed++
			}
			c.step(tick, r, func(int) int { return size })
		}
		should := float64(r.EventsPerSecond) * (ticks/100 + 1)
		slack := .1*should + float64((len(c.nodes)+killed)*c.most)
		if got := float64(c.events); got < .9*should || got > should+slack {
			t.Fatalf("%v events passed in a minute, should be %v ± %v (%d gateways, %d killed, batches of %d)", got, should, slack, len(c.nodes), killed, size)
		}
	})
}

// A project that uses one gateway of many gets the whole rate there, also right
// after it has changed over.
func TestOneGatewayGetsTheWholeRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(rapid.Uint64().Draw(t, "seed"))
		r := Rates{EventsPerSecond: 1000, BatchesPerSecond: 100}
		gateways := rapid.IntRange(1, 6).Draw(t, "gateways")
		for range gateways {
			c.join()
		}
		const ticks = 3000
		for tick := range ticks {
			busy := tick / 1000 % gateways
			c.step(tick, r, func(id int) int {
				if id == busy {
					return 10
				}
				return 0
			})
		}
		should := 1000. * (ticks/100 + 1)
		if got := float64(c.events); got < .95*should || got > 1.05*should {
			t.Fatalf("%v events in 30 s on one of %d gateways, should be %v", got, gateways, should)
		}
	})
}

// Batches a second hold over gateways too.
func TestSharedBatches(t *testing.T) {
	for gateways := 1; gateways <= 5; gateways++ {
		c := newCluster(uint64(gateways))
		for range gateways {
			c.join()
		}
		for tick := range 3000 {
			c.step(tick, Rates{BatchesPerSecond: 100}, func(int) int { return 1 })
		}
		if should := 100. * 31; float64(c.passed) < .9*should || float64(c.passed) > 1.1*should {
			t.Errorf("%d batches in 30 s over %d gateways, should be %v", c.passed, gateways, should)
		}
	}
}

// A gateway that starts knows of a debt, also of one that began long ago.
func TestNewcomerKnowsOfDebts(t *testing.T) {
	c := newCluster(1)
	r := Rates{EventsPerSecond: 10}
	c.join()
	sent := false
	for tick := range 20_000 { // 200 s of a debt of 500 s
		c.step(tick, r, func(int) int {
			if sent {
				return 0
			}
			sent = true
			return 5000
		})
	}
	c.join()
	if s := c.nodes[1].Admit("p", r, c.now); s.Passes() || s.Events > -2900 || s.Events < -3100 {
		t.Errorf("a gateway that just started: %+v", s)
	}
}

func TestUsageRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var told []Usage
		for i := range rapid.IntRange(0, 5).Draw(t, "projects") {
			told = append(told, Usage{
				Project: fmt.Sprint("prj_", i), Events: rapid.Int64().Draw(t, "events"), Batches: rapid.Int64().Draw(t, "batches"),
				EventsLeft: rapid.Int64().Draw(t, "left"), BatchesLeft: rapid.Int64().Draw(t, "left"),
				Rates: Rates{rapid.Int().Draw(t, "rate"), rapid.Int().Draw(t, "rate")},
			})
		}
		gateway, number, got, err := parseUsage(appendUsage(nil, "one", 7, told))
		if err != nil || gateway != "one" || number != 7 || !slices.Equal(got, told) {
			t.Fatal(gateway, number, got, err)
		}
	})
	for _, bad := range []string{"", "usage", "usage a", "usage a b", "claim a 1", "usage a 1\n", "usage a 1\np 1 2 3 4 5", "usage a 1\np 1 2 3 4 5 x", "usage  1"} {
		if _, _, _, err := parseUsage([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
