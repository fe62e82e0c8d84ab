package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"weir/internal/client"
	"weir/internal/feed"
)

type sendCmd struct {
	Files    []string      `arg:"" optional:"" help:"Files to send; none or - reads standard input."`
	Server   string        `help:"Address of the server (${default})." env:"WEIR_SERVER" default:"http://127.0.0.1:8080" placeholder:"URL"`
	Key      string        `help:"API key with the scope ingest, as project create printed it." env:"WEIR_API_KEY" required:"" placeholder:"KEY"`
	Secret   string        `help:"Webhook secret that signs the batches, as project create printed it." env:"WEIR_WEBHOOK_SECRET" required:"" placeholder:"SECRET"`
	Batch    int           `help:"Events in a batch at most; a batch is never over 5 MB." default:"1000"`
	Parallel int           `help:"Batches under way at once." default:"4"`
	Patience time.Duration `help:"How long one batch is tried." default:"10m"`
	TZ       string        `name:"tz" help:"Time zone of log lines that name none." default:"UTC"`
	JSON     bool          `name:"json" help:"Print the summary as JSON."`
}

// summary is what a send came to.
type summary struct {
	Events   int             `json:"events"`
	Accepted int             `json:"accepted"`
	Rejected int             `json:"rejected"`
	Batches  int             `json:"batches"`
	Retries  int             `json:"retries"`
	Bytes    int64           `json:"bytes"`
	Seconds  float64         `json:"seconds"`
	Reasons  []rejectedEvent `json:"reasons,omitempty"`
	// Position is the log position of the last batch answered, for reads that want to see it.
	Position string `json:"position,omitempty"`
}

// rejectedEvent names where an event that was not taken came from.
type rejectedEvent struct {
	Source string `json:"source"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// maxReasons bounds the reasons kept: the first ones tell what is wrong.
const maxReasons = 20

func (c *sendCmd) Run(ctx context.Context, t *terminal) error {
	loc, err := time.LoadLocation(c.TZ)
	if err != nil {
		return usagef("--tz %q is no time zone (%w); use a name like Europe/Berlin", c.TZ, err)
	}
	if c.Batch < 1 || c.Parallel < 1 {
		return usagef("--batch and --parallel must be at least 1")
	}
	job := &sendJob{
		sender: client.NewSender(client.New(c.Server, c.Key), c.Secret),
		opts:   feed.Options{MaxEvents: c.Batch, Location: loc},
		bar:    newProgress(t, "sent", totalBytes(c.Files)),
	}
	job.sender.Patience = c.Patience
	job.sender.OnRetry = job.retrying
	began := time.Now()
	err = job.run(ctx, c.files(), c.Parallel)
	job.bar.done()
	job.sum.Seconds = time.Since(began).Seconds()
	if perr := job.print(t, c.JSON); perr != nil {
		return perr
	}
	return err
}

func (c *sendCmd) files() []string {
	if len(c.Files) == 0 {
		return []string{"-"}
	}
	return c.Files
}

// totalBytes is what the files hold together; -1 when one has no size (standard input, a pipe).
func totalBytes(files []string) int64 {
	if len(files) == 0 {
		return -1
	}
	var total int64
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return -1
		}
		total += info.Size()
	}
	return total
}

type sendJob struct {
	sender *client.Sender
	opts   feed.Options
	bar    *progress

	mu  sync.Mutex
	sum summary
}

func (j *sendJob) run(ctx context.Context, files []string, parallel int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	read := func() error {
		for _, name := range files {
			if err := j.feed(ctx, group, name); err != nil {
				return err
			}
		}
		return nil
	}
	readErr := read()
	sendErr := group.Wait()
	// The reader stops with "context canceled" when a batch failed: the batch's error is the cause.
	if sendErr != nil {
		return sendErr
	}
	return readErr
}

func (j *sendJob) feed(ctx context.Context, group *errgroup.Group, name string) error {
	source, opts := io.Reader(os.Stdin), j.opts
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("open what is to be sent: %w", err)
		}
		defer file.Close()
		source, opts.Module = file, filepath.Base(name)
	}
	reader := feed.NewReader(name, j.bar.reader(source), opts)
	for {
		batch, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		group.Go(func() error { return j.send(ctx, batch) })
	}
}

func (j *sendJob) send(ctx context.Context, batch feed.Batch) error {
	receipt, err := j.sender.Send(ctx, batch.Body)
	if err != nil {
		return fmt.Errorf("%s lines %d to %d were not sent: %w", batch.Source, batch.Lines[0], batch.Lines[len(batch.Lines)-1], err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sum.Batches++
	j.sum.Events += len(batch.Lines)
	j.sum.Accepted += receipt.Accepted
	j.sum.Rejected += len(receipt.Rejected)
	j.sum.Bytes += int64(len(batch.Body))
	j.sum.Position = receipt.Position
	for _, r := range receipt.Rejected {
		if len(j.sum.Reasons) < maxReasons && r.Index < len(batch.Lines) {
			j.sum.Reasons = append(j.sum.Reasons, rejectedEvent{batch.Source, batch.Lines[r.Index], r.Reason})
		}
	}
	return nil
}

func (j *sendJob) retrying(cause error, wait time.Duration) {
	j.mu.Lock()
	j.sum.Retries++
	j.mu.Unlock()
	j.bar.note(fmt.Sprintf("%v; again in %v", cause, wait.Round(time.Millisecond)))
}

func (j *sendJob) print(t *terminal, asJSON bool) error {
	s := j.sum
	if asJSON {
		return t.json(s)
	}
	for _, r := range s.Reasons {
		t.notef("rejected %s line %d: %s\n", r.Source, r.Line, r.Reason)
	}
	if more := s.Rejected - len(s.Reasons); more > 0 {
		t.notef("… and %d more\n", more)
	}
	t.printf("%d events in %d batches, %s: %d accepted, %d rejected, %d retries, %.1f s, %.0f events/s\n",
		s.Events, s.Batches, byteCount(s.Bytes), s.Accepted, s.Rejected, s.Retries, s.Seconds, float64(s.Events)/max(s.Seconds, 0.001))
	return nil
}
