package clickhouse

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/cwriter"
	"github.com/vbauerster/mpb/v8/decor"
)

const (
	barRefresh  = 250 * time.Millisecond
	lineRefresh = 2 * time.Second
	minWidth    = 40 // columns; some terminals do not know theirs and say 0
)

// meter shows how far a transfer of a known size is.
type meter struct {
	to    io.Writer
	what  string
	total int64
}

func newMeter(to io.Writer, what string, total int64) *meter {
	if to == nil {
		to = io.Discard
	}
	return &meter{to: to, what: what, total: total}
}

// follow shows what read returns until the returned function is called, with whether the
// transfer was completed.
func (m *meter) follow(read func() int64) (stop func(done bool)) {
	ended, result := make(chan struct{}), make(chan bool, 1)
	show := m.lines
	if f, ok := m.to.(*os.File); ok && cwriter.IsTerminal(int(f.Fd())) {
		if width, _, err := cwriter.GetSize(int(f.Fd())); err == nil && width >= minWidth {
			show = m.bar
		}
	}
	go func() {
		defer close(ended)
		show(read, result)
	}()
	return func(done bool) {
		result <- done
		<-ended
	}
}

func (m *meter) bar(read func() int64, result <-chan bool) {
	progress := mpb.New(mpb.WithOutput(m.to), mpb.WithRefreshRate(barRefresh))
	bar := progress.AddBar(m.total,
		mpb.PrependDecorators(decor.Name(m.what+" ")),
		mpb.AppendDecorators(decor.CountersKibiByte("% .0f / % .0f "),
			decor.AverageSpeed(decor.SizeB1024(0), "% .0f "), decor.AverageETA(decor.ET_STYLE_GO)))
	defer progress.Wait()
	tick := time.NewTicker(barRefresh)
	defer tick.Stop()
	for {
		select {
		case done := <-result:
			if done {
				bar.SetCurrent(m.total)
			} else {
				bar.Abort(false)
			}
			return
		case <-tick.C:
			// One byte is kept back: a full bar ends itself, before the last step is known to have worked.
			bar.SetCurrent(min(read(), m.total-1))
		}
	}
}

func (m *meter) lines(read func() int64, result <-chan bool) {
	start := time.Now()
	fmt.Fprintf(m.to, "%s: %s\n", m.what, megabytes(m.total))
	tick := time.NewTicker(lineRefresh)
	defer tick.Stop()
	for {
		select {
		case done := <-result:
			if done {
				fmt.Fprintf(m.to, "%s: done in %s\n", m.what, time.Since(start).Round(100*time.Millisecond))
			}
			return
		case <-tick.C:
			fmt.Fprintln(m.to, m.line(min(read(), m.total), time.Since(start)))
		}
	}
}

// line is one report: percent, bytes, rate and the time left.
func (m *meter) line(now int64, passed time.Duration) string {
	rate := float64(now) / max(passed.Seconds(), 0.001)
	left := "unknown"
	if now > 0 {
		left = time.Duration(float64(m.total-now) / rate * float64(time.Second)).Round(time.Second).String()
	}
	return fmt.Sprintf("%s: %d%%, %s of %s, %s/s, %s left",
		m.what, now*100/m.total, megabytes(now), megabytes(m.total), megabytes(int64(rate)), left)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// folderSize adds up the files below a folder; what vanishes meanwhile counts nothing.
func folderSize(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size
}

// countingReader counts what passes and ends with its context.
type countingReader struct {
	ctx   context.Context
	from  io.Reader
	count atomic.Int64
}

func (r *countingReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.from.Read(p)
	r.count.Add(int64(n))
	return n, err
}
