package main

import (
	"fmt"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// counter shows how many records of how many are done, as a server tells it: a bar on a
// terminal, plain lines elsewhere.
type counter struct {
	t    *terminal
	what string
	pool *mpb.Progress
	bar  *mpb.Bar
	rest string // rate and time left, as told last
	said time.Time
}

func newCounter(t *terminal, what string) *counter {
	c := &counter{t: t, what: what}
	if t.interactive() {
		c.pool = mpb.New(mpb.WithOutput(t.err), mpb.WithWidth(60))
		c.bar = c.pool.AddBar(0,
			mpb.PrependDecorators(decor.Name(what+" "), decor.CountersNoUnit("%d / %d")),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return c.rest })))
	}
	return c
}

// set tells how far it is. Not for concurrent use with itself.
func (c *counter) set(done, total int64, perSecond, secondsLeft float64) {
	rest := fmt.Sprintf("%.0f/s", perSecond)
	if secondsLeft > 0 {
		rest += fmt.Sprintf(", %v left", time.Duration(secondsLeft*float64(time.Second)).Round(time.Second))
	}
	if c.bar != nil {
		c.rest = rest
		c.bar.SetTotal(max(total, done+1), false) // a full bar would end by itself
		c.bar.SetCurrent(done)
		return
	}
	if time.Since(c.said) < lineEvery {
		return
	}
	c.said = time.Now()
	c.t.notef("%s %d of %d records, %s\n", c.what, done, total, rest)
}

// note prints a line about trouble.
func (c *counter) note(line string) {
	if c.pool != nil {
		_, _ = c.pool.Write([]byte(line + "\n"))
		return
	}
	c.t.notef("%s\n", line)
}

// done ends the bar.
func (c *counter) done() {
	if c.pool != nil {
		c.bar.SetTotal(-1, true)
		c.pool.Wait()
	}
}
