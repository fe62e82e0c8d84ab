package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// lineEvery is how often progress is printed where no person looks at a bar.
const lineEvery = 5 * time.Second

// noteEvery is how often trouble is told.
const noteEvery = 5 * time.Second

// progress shows bytes done, rate and time left: a bar on a terminal, plain lines elsewhere.
// The zero total means that it is not known.
type progress struct {
	t     *terminal
	what  string
	total int64

	pool *mpb.Progress
	bar  *mpb.Bar

	mu    sync.Mutex
	read  int64
	began time.Time
	said  time.Time
	noted time.Time
}

func newProgress(t *terminal, what string, total int64) *progress {
	p := &progress{t: t, what: what, total: max(total, 0), began: time.Now(), said: time.Now()}
	if t.interactive() {
		p.pool = mpb.New(mpb.WithOutput(t.err), mpb.WithWidth(60))
		p.bar = p.pool.AddBar(p.total,
			mpb.PrependDecorators(decor.Name(what+" "), decor.CountersKibiByte("% .1f / % .1f")),
			mpb.AppendDecorators(decor.AverageSpeed(decor.SizeB1024(0), "% .1f "), decor.AverageETA(decor.ET_STYLE_GO)))
	}
	return p
}

// reader counts what is read through it.
func (p *progress) reader(r io.Reader) io.Reader { return &countedReader{r, p} }

type countedReader struct {
	from io.Reader
	to   *progress
}

func (c *countedReader) Read(buf []byte) (int, error) {
	n, err := c.from.Read(buf)
	c.to.add(n)
	return n, err
}

func (p *progress) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read += int64(n)
	if p.bar != nil {
		p.bar.IncrBy(n)
		return
	}
	if time.Since(p.said) < lineEvery {
		return
	}
	p.said = time.Now()
	seconds := time.Since(p.began).Seconds()
	rate := float64(p.read) / seconds
	left := ""
	if p.total > p.read {
		left = fmt.Sprintf(", %v left", time.Duration(float64(p.total-p.read)/rate*float64(time.Second)).Round(time.Second))
	}
	p.t.notef("%s %s in %.0f s, %s/s%s\n", p.what, byteCount(p.read), seconds, byteCount(int64(rate)), left)
}

// note prints a line about trouble, at most one in noteEvery: a server that is down would flood the screen.
func (p *progress) note(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.noted) < noteEvery {
		return
	}
	p.noted = time.Now()
	if p.pool != nil {
		_, _ = p.pool.Write([]byte(line + "\n"))
		return
	}
	p.t.notef("%s\n", line)
}

// done ends the bar, complete or not.
func (p *progress) done() {
	if p.pool == nil {
		return
	}
	p.bar.SetTotal(-1, true)
	p.pool.Wait()
}

// byteCount prints a size for people.
func byteCount(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
